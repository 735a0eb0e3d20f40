// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/text.hpp"
#include "reports/systems.hpp"

namespace paceline::reports {
namespace {

using base::JsonWriter;
using models::Relation;
using SystemLine = std::array<std::string, 5>;  // system, claimed, predicted, status, why

/// Four significant digits, no exponent where one can do without.
std::string short_number(double value) {
  const double size = std::fabs(value);
  if (size != 0 && (size < 1e-3 || size >= 1e6)) {
    const int exponent = static_cast<int>(std::floor(std::log10(size)));
    return base::format_fixed(value / std::pow(10.0, exponent), 3) + "e" + std::to_string(exponent);
  }
  return base::format_fixed(value, size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

std::string figure(Relation relation, double value) {
  if (relation == Relation::Gain || relation == Relation::Saving) {
    const double signed_value = relation == Relation::Gain ? value : -value;
    return (signed_value > 0 ? "+" : "") + base::format_fixed(100 * signed_value, 1) + " %";
  }
  return short_number(value);
}

std::string claimed(const models::SystemCheck& check) {
  if (check.relation == Relation::Shown) return check.quantity + " (no figure)";
  const std::string_view sign = check.relation == Relation::AtLeast  ? ">= "
                                : check.relation == Relation::AtMost ? "<= "
                                                                     : "";
  return check.quantity + " " + std::string(sign) + figure(check.relation, check.claimed);
}

std::string why_text(const SystemCase& one) {
  std::string text = one.why;
  for (std::size_t r = 0; r < one.runs.size(); ++r)
    if (!one.runs[r].fits) text += "; " + one.system.runs[r].name + " does not fit into memory";
  return text;
}

void add_lines(const SystemCase& one, std::vector<SystemLine>& lines) {
  if (one.checks.empty()) {
    lines.push_back(
        {one.system.id, one.system.headline, "-", std::string(to_text(one.status)), why_text(one)});
    return;
  }
  for (std::size_t c = 0; c < one.checks.size(); ++c) {
    const models::SystemCheck& check = one.system.checks[c];
    lines.push_back(
        {c == 0 ? one.system.id : "", claimed(check),
         figure(check.relation, one.checks[c].predicted),
         check.relation == Relation::Shown ? "shown" : std::string(to_text(one.checks[c].status)),
         c == 0 ? why_text(one) : ""});
  }
}

constexpr std::array kStatuses{SystemStatus::Reproduced, SystemStatus::Within, SystemStatus::Off,
                               SystemStatus::NotExpressible};

std::int64_t count(const std::vector<SystemCase>& cases, SystemStatus status) {
  return std::count_if(cases.begin(), cases.end(),
                       [&](const SystemCase& one) { return one.status == status; });
}

void write_checks(JsonWriter& json, const SystemCase& one) {
  json.key("checks").begin_array();
  for (std::size_t c = 0; c < one.checks.size(); ++c) {
    const models::SystemCheck& check = one.system.checks[c];
    json.begin_object().field("quantity", check.quantity).field("expression", check.text);
    json.field("relation", models::to_text(check.relation)).key("claimed");
    check.relation == Relation::Shown ? json.null() : json.value(check.claimed);
    json.field("predicted", one.checks[c].predicted).key("error");
    one.checks[c].error ? json.value(*one.checks[c].error) : json.null();
    json.field("status", to_text(one.checks[c].status)).end_object();
  }
  json.end_array();
}

void write_runs(JsonWriter& json, const SystemCase& one) {
  json.key("runs").begin_array();
  for (std::size_t r = 0; r < one.runs.size(); ++r) {
    const models::SystemRun& run = one.system.runs[r];
    if (run.jobs) {
      json.begin_object().field("name", run.name).field("jobs", run.file);
      json.field("instances", one.runs[r].instances).end_object();
      continue;
    }
    json.begin_object().field("name", run.name).field("scenario", run.file);
    json.field("with", run.changes);
    json.field("engine", run.shared_links ? "simgrid" : "reference");
    json.field("step_time_s", one.runs[r].step_time).field("fits", one.runs[r].fits).end_object();
  }
  json.end_array();
}

void write_case(JsonWriter& json, const SystemCase& one) {
  json.begin_object().field("id", one.system.id).field("title", one.system.title);
  json.field("claim", one.system.claim).field("source", one.system.source).key("predicted");
  one.checks.empty() ? json.null() : json.value(one.checks.front().predicted);
  json.field("status", to_text(one.status)).field("why", one.why);
  json.key("missing").begin_array();
  for (const std::string& capability : one.system.missing) json.value(capability);
  json.end_array();
  write_checks(json, one);
  write_runs(json, one);
  json.end_object();
}

}  // namespace

std::string systems_table(const std::vector<SystemCase>& cases) {
  std::vector<SystemLine> lines{{"system", "claimed", "predicted", "status", "why"}};
  for (const SystemCase& one : cases) add_lines(one, lines);
  std::array<std::size_t, 5> width{};
  for (const SystemLine& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) width[c] = std::max(width[c], line[c].size());
  std::string text;
  for (const SystemLine& line : lines) {
    std::string row;
    for (std::size_t c = 0; c < line.size(); ++c) {
      const std::string pad(width[c] - line[c].size(), ' ');
      row += (c == 0 ? "" : "  ") + (c == 2 ? pad + line[c] : line[c] + pad);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  text += "\n" + std::to_string(cases.size()) + " systems:";
  for (const SystemStatus status : kStatuses)
    text += (status == kStatuses.front() ? " " : ", ") + std::to_string(count(cases, status)) +
            " " + std::string(to_text(status));
  return text + "\n";
}

std::string systems_json(const std::vector<SystemCase>& cases, const std::string& command) {
  JsonWriter json;
  json.begin_object();
  json.field("schema", "paceline-validate-1").field("version", PACELINE_VERSION);
  json.field("command", command);
  json.key("suites").begin_array().begin_object();
  json.field("name", "systems").field("rows", static_cast<std::int64_t>(cases.size()));
  json.key("counts").begin_object();
  for (const SystemStatus status : kStatuses) json.field(to_text(status), count(cases, status));
  json.end_object().key("cases").begin_array();
  for (const SystemCase& one : cases) write_case(json, one);
  json.end_array().end_object().end_array().end_object();
  return json.finish();
}

}  // namespace paceline::reports
