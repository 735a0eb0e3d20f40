// SPDX-License-Identifier: Apache-2.0
#include "reports/energy.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "reports/names.hpp"

namespace paceline::reports {
namespace {

using base::JsonWriter;

constexpr double kJoulesPerKwh = 3.6e6;

/// Steps of the run, of all workers together.
double steps_of_run(const sim::Result& r) {
  if (r.run_tokens <= 0) return 0;
  return r.run_tokens / (r.tokens_per_s * r.step_time);
}

void band(JsonWriter& json, std::string_view key, const models::PowerRange& range, double scale) {
  json.key(key).begin_array(true);
  json.value(range.low * scale).value(range.high * scale).end_array();
}

models::PowerRange read_range(base::Fields& from, std::string_view middle, std::string_view band) {
  models::PowerRange range{};
  range.middle = from.number(middle, 0, kAny);
  const auto& ends = from.list(band);
  if (ends.size() != 2) from.fail(band, "has to be [low, high]");
  range.low = base::parse_number(ends[0].text, from.where(ends[0], band), 0, kAny);
  range.high = base::parse_number(ends[1].text, from.where(ends[1], band), 0, kAny);
  return range;
}

std::string joules(double j) {
  if (j >= kJoulesPerKwh) return base::format_fixed(j / kJoulesPerKwh, 2) + " kWh";
  if (j >= 1e3) return base::format_fixed(j / 1e3, 1) + " kJ";
  return base::format_fixed(j, 1) + " J";
}

std::string watts(double w) {
  return w >= 1e6   ? base::format_fixed(w / 1e6, 2) + " MW"
         : w >= 1e3 ? base::format_fixed(w / 1e3, 1) + " kW"
                    : base::format_fixed(w, 0) + " W";
}

std::string kwh(double j) {
  const double k = j / kJoulesPerKwh;
  if (k >= 1e6) return base::format_fixed(k / 1e6, 2) + " GWh";
  if (k >= 1e3) return base::format_fixed(k / 1e3, 1) + " MWh";
  return base::format_fixed(k, 1) + " kWh";
}

}  // namespace

void write_energy(JsonWriter& json, const sim::Result& r) {
  const sim::Energy& e = *r.energy;
  json.key("energy").begin_object();
  json.field("step_j", e.step.middle);
  band(json, "step_band_j", e.step, 1);
  json.field("host_j", e.host.middle);
  band(json, "host_band_j", e.host, 1);
  json.key("by_class_j").begin_object();
  for (std::size_t c = 0; c < e.by_class.size(); ++c)
    json.field(models::to_text(static_cast<models::PowerClass>(c)), e.by_class[c].middle);
  json.end_object();
  json.key("device_w").begin_array(true);
  for (const double w : e.watts) json.value(w);
  json.end_array();
  json.field("pue", r.pue);
  json.field("tokens_per_j", r.tokens_per_s * r.step_time / (e.step.middle * r.pue));
  if (r.carbon) json.field("carbon_kg_per_kwh", *r.carbon);
  if (const double steps = steps_of_run(r); steps > 0) {
    const double scale = steps * r.pue / kJoulesPerKwh;
    json.field("run_kwh", e.step.middle * scale);
    band(json, "run_band_kwh", e.step, scale);
    if (r.carbon) json.field("run_co2_kg", e.step.middle * scale * *r.carbon);
  }
  if (e.slack) {
    json.key("slack").begin_object().field("saved_j", e.slack->saved.middle);
    band(json, "saved_band_j", e.slack->saved, 1);
    json.key("clock").begin_array(true);
    for (const double clock : e.slack->clock) json.value(clock);
    json.end_array().end_object();
  }
  json.end_object();
}

namespace {

sim::SlackClocks read_slack(base::Fields from) {
  sim::SlackClocks slack;
  slack.saved = read_range(from, "saved_j", "saved_band_j");
  for (const base::Value& item : from.list("clock"))
    slack.clock.push_back(base::parse_number(item.text, from.where(item, "clock"), 0, 1));
  from.done();
  return slack;
}

/// "passes that wait run slower: 1.2 kJ (3.4 %) are saved, the step is no longer; ..."
std::string slack_line(const sim::Energy& e) {
  const auto [low, high] = std::minmax_element(e.slack->clock.begin(), e.slack->clock.end());
  const double saved = e.slack->saved.middle;
  return "passes that wait run slower: " + joules(saved) + " (" +
         base::format_percent(saved / (e.step.middle + saved)) +
         ") are saved, the step is no longer; mean clocks of rank classes " +
         base::format_percent(*low) + " to " + base::format_percent(*high);
}

}  // namespace

void read_energy(base::Fields from, sim::Result& r) {
  sim::Energy e;
  e.step = read_range(from, "step_j", "step_band_j");
  e.host = read_range(from, "host_j", "host_band_j");
  base::Fields classes = from.map("by_class_j");
  for (std::size_t c = 0; c < e.by_class.size(); ++c)
    e.by_class[c].middle =
        classes.number(models::to_text(static_cast<models::PowerClass>(c)), 0, kAny);
  classes.done();
  for (const base::Value& item : from.list("device_w"))
    e.watts.push_back(base::parse_number(item.text, from.where(item, "device_w"), 0, kAny));
  r.pue = from.number("pue", 1, 10);
  if (from.has("carbon_kg_per_kwh")) r.carbon = from.number("carbon_kg_per_kwh", 0, kAny);
  for (const char* derived : {"tokens_per_j", "run_kwh", "run_co2_kg"})
    if (from.has(derived)) from.number(derived, 0, kAny);
  from.find("run_band_kwh");
  if (from.has("slack")) e.slack = read_slack(from.map("slack"));
  from.done();
  r.energy = std::move(e);
}

void write_cost(JsonWriter& json, const sim::Result& r) {
  const sim::Money& m = *r.money;
  json.key("cost").begin_object();
  json.field("step_usd", m.step.total());
  json.key("breakdown_usd").begin_object();
  for (const auto& [name, usd] : m.step.parts) json.field(name, usd);
  json.end_object();
  json.field("billion_tokens_usd", m.billion_tokens);
  if (m.run > 0) json.field("run_usd", m.run);
  if (m.hours_a_day < models::kHoursOfDay) json.field("hours_a_day", m.hours_a_day);
  json.key("sources").begin_array();
  for (const std::string& source : m.sources) json.value(source);
  json.end_array();
  json.end_object();
}

void read_cost(base::Fields from, sim::Result& r) {
  sim::Money m;
  base::Fields parts = from.map("breakdown_usd");
  for (const char* name : {"devices", "electricity", "egress", "storage"})
    if (parts.has(name)) m.step.parts.emplace_back(name, parts.number(name, 0, kAny));
  parts.done();
  from.number("step_usd", 0, kAny);  // the sum of the parts
  m.billion_tokens = from.number("billion_tokens_usd", 0, kAny);
  m.run = from.number("run_usd", 0, kAny, 0.0);
  m.hours_a_day = from.number("hours_a_day", 0, models::kHoursOfDay, models::kHoursOfDay);
  m.sources = from.text_list("sources");
  from.done();
  r.money = std::move(m);
}

std::vector<std::string> energy_lines(const sim::Result& r) {
  if (!r.energy) return {};
  const sim::Energy& e = *r.energy;
  const double seconds = r.outer ? r.outer->step_seconds : r.step_time;
  std::vector<std::string> lines{
      joules(e.step.middle) + (r.outer ? " a step of a worker (band " : " a step (band ") +
      joules(e.step.low) + " to " + joules(e.step.high) + "), " + watts(e.step.middle / seconds) +
      " on average, " + base::format_percent(e.host.middle / e.step.middle) + " of it hosts"};
  if (e.slack) lines.push_back(slack_line(e));
  if (const double steps = steps_of_run(r); steps > 0) {
    const double scale = steps * r.pue;
    std::string run = "the run: " + kwh(e.step.middle * scale) + " (" + kwh(e.step.low * scale) +
                      " to " + kwh(e.step.high * scale) + ")" +
                      (r.pue > 1 ? " at PUE " + base::format_fixed(r.pue, 2)
                                 : std::string(" without the building's share"));
    if (r.carbon)
      run += ", " +
             base::format_fixed(e.step.middle * scale / kJoulesPerKwh * *r.carbon / 1000, 1) +
             " t CO2e";
    lines.push_back(std::move(run));
  }
  return lines;
}

std::vector<std::string> cost_lines(const sim::Result& r) {
  if (!r.money || r.money->step.parts.empty()) return {};
  const auto usd = [](double value) {
    return base::format_fixed(value, value < 10 ? 4 : value < 1000 ? 2 : 0) + " USD";
  };
  const sim::Money& m = *r.money;
  std::string first = usd(m.step.total()) + (r.outer ? " a step of all workers (" : " a step (");
  for (std::size_t i = 0; i < m.step.parts.size(); ++i) {
    first += (i > 0 ? ", " : "") + m.step.parts[i].first;
    if (m.step.parts.size() > 1) first += " " + usd(m.step.parts[i].second);
  }
  std::vector<std::string> lines{first + "), " + usd(m.billion_tokens) + " per billion tokens"};
  if (m.run > 0) lines.push_back("the run: " + usd(m.run) + ", without failures and checkpoints");
  if (m.run > 0 && m.hours_a_day < models::kHoursOfDay)
    lines.push_back("working " + base::shortest(m.hours_a_day) +
                    " hours a day: " + base::format_fixed(r.run_seconds / 3600 / m.hours_a_day, 1) +
                    " days by the calendar");
  return lines;
}

}  // namespace paceline::reports
