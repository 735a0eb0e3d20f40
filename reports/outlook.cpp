// SPDX-License-Identifier: Apache-2.0
#include "reports/outlook.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <span>

#include "base/text.hpp"
#include "models/scenario/failures.hpp"
#include "reports/names.hpp"

namespace paceline::reports {
namespace {

std::string long_time(double seconds) {
  return seconds >= 2 * 86400  ? base::format_fixed(seconds / 86400, 1) + " days"
         : seconds >= 2 * 3600 ? base::format_fixed(seconds / 3600, 1) + " h"
                               : base::format_seconds(base::Seconds(seconds));
}

bool does_work(const sim::RunSpan& span) {
  return span.doing == sim::Doing::Work || span.doing == sim::Doing::Slow;
}

std::string doing_key(int doing) {
  std::string key(sim::to_text(static_cast<sim::Doing>(doing)));
  std::replace(key.begin(), key.end(), ' ', '_');
  return key;
}

void write_bounds(base::JsonWriter& json, const std::string& key, const std::string& unit,
                  const sim::Estimate& e) {
  json.field(key + unit, e.value);
  if (e.low) json.field(key + "_low" + unit, *e.low);
  if (e.high) json.field(key + "_high" + unit, *e.high);
}

sim::Estimate read_bounds(base::Fields& from, const std::string& key, const std::string& unit) {
  sim::Estimate e;
  e.value = from.number(key + unit, 0, kAny);
  if (from.has(key + "_low" + unit)) e.low = from.number(key + "_low" + unit, -kAny, kAny);
  if (from.has(key + "_high" + unit)) e.high = from.number(key + "_high" + unit, -kAny, kAny);
  return e;
}

void write_sample(base::JsonWriter& json, const sim::RunOutlook& o) {
  json.key("sample").begin_object().field("run_s", o.sample_seconds);
  const std::size_t written = std::min(o.sample.size(), kMostRunSpans);
  json.key("work_share").begin_array(true);
  for (const double share : o.sample_work) json.value(share);
  json.end_array();
  json.field("spans_left_out",
             static_cast<std::int64_t>(o.sample.size() - written) + o.spans_left_out);
  json.key("spans").begin_array();
  for (const sim::RunSpan& span : std::span(o.sample).first(written)) {
    json.begin_object().field("doing", doing_key(static_cast<int>(span.doing)));
    json.field("begin_s", span.begin).field("end_s", span.end);
    if (span.cause >= 0) json.field("cause", o.causes[static_cast<std::size_t>(span.cause)].name);
    if (does_work(span)) json.field("pace", span.pace);
    json.end_object();
  }
  json.end_array().end_object();
}

sim::RunSpan read_span(base::Fields from, const sim::RunOutlook& o) {
  sim::RunSpan span;
  const std::string doing = from.text("doing");
  int found = 0;
  while (found < sim::kDoings && doing_key(found) != doing) ++found;
  if (found == sim::kDoings) from.fail("doing", "is no part of a run", "was the file edited?");
  span.doing = static_cast<sim::Doing>(found);
  span.begin = from.number("begin_s", 0, kAny);
  span.end = from.number("end_s", span.begin, kAny);
  span.pace = does_work(span) ? from.number("pace", 0, 1) : 0;
  if (from.has("cause")) {
    const std::string name = from.text("cause");
    const auto cause = std::find_if(o.causes.begin(), o.causes.end(),
                                    [&](const sim::OutlookCause& c) { return c.name == name; });
    if (cause == o.causes.end()) from.fail("cause", "is none of causes", "was the file edited?");
    span.cause = static_cast<int>(cause - o.causes.begin());
  }
  from.done();
  return span;
}

void read_sample(base::Fields from, sim::RunOutlook& o) {
  o.sample_seconds = from.number("run_s", 0, kAny);
  for (const base::Value& item : from.list("work_share"))
    o.sample_work.push_back(base::parse_number(item.text, from.where(item, "work_share"), 0, 2));
  o.spans_left_out = static_cast<int>(from.integer("spans_left_out", 0, 2'000'000'000));
  for (const base::Value& item : from.list("spans"))
    o.sample.push_back(read_span(from.view(item, "spans"), o));
  from.done();
}

void write_causes(base::JsonWriter& json, const sim::RunOutlook& o) {
  json.key("time_share").begin_object();
  for (int d = 0; d < sim::kDoings; ++d)
    json.field(doing_key(d), o.doing[static_cast<std::size_t>(d)]);
  json.end_object().key("causes").begin_array();
  for (const sim::OutlookCause& c : o.causes) {
    json.begin_object().field("name", c.name).field("count", c.count);
    json.field("time_share", c.share).end_object();
  }
  json.end_array();
}

void read_causes(base::Fields& from, sim::RunOutlook& o) {
  base::Fields doing = from.map("time_share");
  for (int d = 0; d < sim::kDoings; ++d)
    o.doing[static_cast<std::size_t>(d)] = doing.number(doing_key(d), 0, kAny);
  doing.done();
  for (const base::Value& item : from.list("causes")) {
    base::Fields cause = from.view(item, "causes");
    o.causes.push_back(
        {cause.text("name"), cause.number("count", 0, kAny), cause.number("time_share", 0, kAny)});
    cause.done();
  }
}

}  // namespace

void write_outlook(base::JsonWriter& json, const sim::RunOutlook& o) {
  json.key("failures").begin_object();
  write_bounds(json, "goodput", "", o.goodput);
  write_bounds(json, "run", "_s", o.run_seconds);
  if (o.run_money) write_bounds(json, "run", "_usd", *o.run_money);
  json.field("recovery", o.recovery);
  if (o.one_lost) {
    json.key("one_node_lost").begin_object().field("pace", o.one_lost->pace);
    json.field("regroup_s", o.one_lost->regroup).end_object();
  }
  json.field("mtbf_s", o.mtbf).field("checkpoint_bytes", o.checkpoint_bytes);
  json.field("checkpoint_every_s", o.every).field("checkpoint_blocking_s", o.blocking);
  json.field("runs", o.runs).field("seed", o.seed);
  write_causes(json, o);
  write_sample(json, o);
  json.end_object();
}

sim::RunOutlook read_outlook(base::Fields from) {
  sim::RunOutlook o;
  o.goodput = read_bounds(from, "goodput", "");
  o.run_seconds = read_bounds(from, "run", "_s");
  if (from.has("run_usd")) o.run_money = read_bounds(from, "run", "_usd");
  o.recovery = from.text("recovery");
  if (from.has("one_node_lost")) {
    base::Fields one = from.map("one_node_lost");
    o.one_lost = sim::OneLost{one.number("pace", 0, 1), one.number("regroup_s", 0, kAny)};
    one.done();
  }
  o.mtbf = from.number("mtbf_s", 0, kAny);
  o.checkpoint_bytes = from.number("checkpoint_bytes", 0, kAny);
  o.every = from.number("checkpoint_every_s", 0, kAny);
  o.blocking = from.number("checkpoint_blocking_s", 0, kAny);
  o.runs = static_cast<int>(from.integer("runs", 1, 2'000'000'000));
  o.seed = static_cast<std::uint64_t>(from.integer("seed", 0, 1'000'000'000));
  read_causes(from, o);
  read_sample(from.map("sample"), o);
  from.done();
  return o;
}

namespace {

std::string between(const sim::Estimate& e, const std::function<std::string(double)>& text) {
  if (!e.low || !e.high) return text(e.value);
  return text(e.value) + " (" + text(*e.low) + " to " + text(*e.high) + ")";
}

/// "checkpoints 1.2 %, node 5.1 % (23 a run), ...", the largest first.
std::string shares(const sim::RunOutlook& o) {
  std::vector<std::pair<double, std::string>> parts;
  const double saving = o.doing[static_cast<std::size_t>(sim::Doing::Checkpoint)];
  if (saving > 0) parts.emplace_back(saving, "checkpoints " + base::format_percent(saving));
  for (const sim::OutlookCause& c : o.causes) {
    if (c.count <= 0) continue;
    parts.emplace_back(c.share, printable(c.name) + " " + base::format_percent(c.share) + " (" +
                                    base::format_fixed(c.count, c.count < 10 ? 1 : 0) + " a run)");
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [share, part] : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

/// Why more of the pace can be left than of the nodes.
bool cuts_anew(const sim::RunOutlook& o) {
  for (const models::RecoveryPolicy& policy : models::recovery_policies())
    if (policy.name == o.recovery) return policy.traits.migrates;
  return false;
}

}  // namespace

std::string run_bar(const sim::RunOutlook& o, const TextStyle& style) {
  constexpr std::array<std::string_view, 9> kBlocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const double share : o.sample_work) {
    const double bounded = std::clamp(share, 0.0, 1.0);
    if (style.blocks)
      text += kBlocks[static_cast<std::size_t>(std::lround(bounded * 8))];
    else
      text += static_cast<char>('0' + static_cast<int>(std::lround(bounded * 9)));
  }
  return text;
}

std::vector<std::string> outlook_lines(const sim::RunOutlook& o, const TextStyle& style,
                                       double hours_a_day) {
  const auto percent = [](double x) { return base::format_percent(x); };
  const auto usd = [](double x) {
    return x < 1e4 ? base::format_fixed(x, 0) : base::format_count(x);
  };
  std::vector<std::string> lines;
  std::string first = "goodput " + between(o.goodput, percent);
  if (o.goodput.low && o.goodput.high)
    first += ": mean of " + std::to_string(o.runs) + " sampled runs, 95 % confidence";
  lines.push_back(first);
  lines.push_back("the run takes " + between(o.run_seconds, long_time));
  if (o.run_money) lines.back() += " and costs " + between(*o.run_money, usd) + " USD";
  if (hours_a_day < 24)
    lines.push_back(
        "working " + base::shortest(hours_a_day) + " hours a day: " +
        between(o.run_seconds, [&](double x) { return long_time(x * 24 / hours_a_day); }) +
        " by the calendar, if nothing breaks in the other hours");
  if (const std::string parts = shares(o); !parts.empty()) lines.push_back("lost to " + parts);
  std::string stops = o.mtbf > 0 ? "fails every " + long_time(o.mtbf) + "; every "
                                 : "nothing stops the job; every ";
  lines.push_back(stops + long_time(o.every) + " of work a checkpoint of " +
                  base::format_bytes(base::Bytes(o.checkpoint_bytes)) + " stops it for " +
                  base::format_seconds(base::Seconds(o.blocking)));
  if (o.one_lost)
    lines.push_back("recovery " + o.recovery + ": without one node " +
                    base::format_percent(o.one_lost->pace) + " of the tokens a second" +
                    (cuts_anew(o) ? ", layers cut anew where that is faster" : "") + ", after " +
                    base::format_seconds(base::Seconds(o.one_lost->regroup)));
  lines.push_back("one run  " + run_bar(o, style));
  return lines;
}

}  // namespace paceline::reports
