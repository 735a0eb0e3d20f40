// SPDX-License-Identifier: Apache-2.0
#include "reports/html/report.hpp"

#include <vector>

#include "base/json.hpp"
#include "reports/compare.hpp"
#include "reports/html/library.hpp"
#include "reports/html/page.hpp"
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

}  // namespace paceline::reports
