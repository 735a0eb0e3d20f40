// SPDX-License-Identifier: Apache-2.0
#include "reports/html/report.hpp"

#include <array>
#include <vector>

#include "base/json.hpp"
#include "reports/compare.hpp"
#include "reports/html/library.hpp"
#include "reports/html/page.hpp"
#include "reports/html/view.hpp"
#include "reports/result_json.hpp"
#include "reports/text.hpp"

namespace paceline::reports {

namespace {

/// `json` without the blanks between its tokens.
std::string compact(std::string_view json) {
  std::string out;
  bool quoted = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (!quoted && (c == ' ' || c == '\n')) continue;
    out += c;
    if (quoted && c == '\\' && i + 1 < json.size())
      out += json[++i];
    else if (c == '"')
      quoted = !quoted;
  }
  return out;
}

/// {"schema":…,"kind":…,KEY:document,…}
std::string data_of(std::string_view kind,
                    const std::vector<std::pair<std::string_view, std::string>>& documents) {
  base::JsonWriter json(0);
  json.begin_object().field("schema", kReportSchema).field("kind", kind);
  json.field("version", PACELINE_VERSION).end_object();
  std::string out = json.finish();
  out.resize(out.rfind('}'));
  for (const auto& [key, document] : documents) out += ",\"" + std::string(key) + "\":" + document;
  return out + "}";
}

std::string runs_of(std::span<const ReportRun> runs) {
  std::string out = "[";
  for (const ReportRun& run : runs) {
    out += out.size() > 1 ? "," : "";
    out += "{\"answer\":" + compact(to_json(*run.answer)) +
           ",\"view\":" + (run.view.empty() ? "null" : run.view) + "}";
  }
  return out + "]";
}

std::string page(const std::string& title, const std::string& plain, const std::string& data) {
  const PageFiles files = page_files();
  const std::string library = script_text(chart_library()), json = script_json(data);
  return fill_page(files.html, {title, plain, files.style, library, json, files.script});
}

/// Of few digits: there may be thousands.
std::string tried_of(const SearchReport& search) {
  constexpr std::array<std::string_view, 3> kVerdicts{"fits", "does not fit", "beyond the run"};
  base::JsonWriter json(0);
  json.begin_array();
  for (const sim::Tried& tried : search.tried) {
    json.begin_object().field("layout", std::string_view(layout_text(tried.layout)));
    json.field("status", kVerdicts[static_cast<std::size_t>(tried.verdict)]);
    json.field("step_time_s", rounded(tried.seconds)).field("devices", tried.layout.devices);
    json.field("reserved_bytes", rounded(tried.bytes));
    if (search.objective == sim::Objective::Cost) json.field("step_usd", rounded(tried.value));
    if (search.objective == sim::Objective::Energy) json.field("step_j", rounded(tried.value));
    json.end_object();
  }
  json.end_array();
  return compact(json.finish());
}

constexpr TextStyle kPlainText{false, false, 100};

}  // namespace

std::string run_report(const ReportRun& run) {
  return page(run.answer->scenario, to_text(*run.answer, kPlainText),
              data_of("run", {{"runs", runs_of({&run, 1})}}));
}

std::string comparison_report(std::span<const ReportRun> runs, std::string_view command) {
  std::vector<Answer> answers;
  for (const ReportRun& run : runs) answers.push_back(*run.answer);
  return page("Comparison of " + std::to_string(runs.size()) + " runs",
              comparison_text(answers, kPlainText),
              data_of("compare", {{"runs", runs_of(runs)},
                                  {"comparison", compact(comparison_json(answers, command))}}));
}

std::string sweep_report(const SweepReport& sweep) {
  return page("Sweep of " + sweep.header.scenario, sweep_text(sweep, kPlainText),
              data_of("sweep", {{"sweep", compact(sweep_json(sweep))}}));
}

std::string plan_report(const SearchReport& search, std::span<const ReportRun> best) {
  return page("Layout of " + search.scenario, search_text(search, kPlainText),
              data_of("plan", {{"plan", compact(search_json(search))},
                               {"tried", tried_of(search)},
                               {"runs", runs_of(best)}}));
}

}  // namespace paceline::reports
