// SPDX-License-Identifier: Apache-2.0
#include "reports/compare.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/outputs.hpp"
#include "cli/scenario_options.hpp"
#include "reports/html/report.hpp"
#include "reports/result_json.hpp"
#include "sim/predict.hpp"

namespace paceline::cli {

namespace {

constexpr const char* kCompareHelp =
    "Puts several runs side by side: step time, where it goes, memory and traffic, each with its\n"
    "ratio to the first run. A run is a scenario, which is predicted now, or a result file that\n"
    "'paceline run --json' wrote earlier. --set makes the same change to every scenario; result\n"
    "files stay as they are.\n"
    "\n"
    "Examples:\n"
    "  paceline compare tp4.yaml tp8.yaml --report difference.html\n"
    "  paceline compare before.json scenarios/06_llama3_70b_64_h100.yaml --json -";

struct CompareOptions {
  std::vector<std::string> files, set;
  EngineChoice engine;
  std::string json, report;
};

/// `view` receives what a report draws beside the answer, where one is asked for.
reports::Answer answer_of(const std::string& file, const CompareOptions& options,
                          std::string& view) {
  if (file.ends_with(".json")) {
    const base::Document document = base::read_document(file);
    if (reports::is_result(document)) return reports::read_answer(document);
  }
  const models::Scenario scenario = models::read_scenario_file(file, options.set);
  sim::PredictOptions predict = find_engine(options.engine);
  predict.energy = true;
  predict.inner = !options.report.empty();
  const sim::Prediction prediction = sim::predict(scenario, predict);
  if (!options.report.empty()) view = reports::report_view(scenario, prediction);
  return reports::make_answer(
      scenario, prediction, reports::run_command(file, options.set, engine_words(options.engine)));
}

int compare_files(const CompareOptions& options) {
  find_engine(options.engine);
  if (!options.report.empty()) reports::require_report_library();
  Outputs outputs("");
  std::optional<reports::OutputFile> report = outputs.open(options.report);
  std::vector<reports::Answer> answers;
  std::vector<std::string> views(options.files.size());
  std::string command = "paceline compare";
  for (const std::string& file : options.files) {
    answers.push_back(answer_of(file, options, views[answers.size()]));
    command += " " + reports::shell_word(file);
  }
  for (const std::string& item : options.set) command += " --set " + reports::shell_word(item);
  command += " " + engine_words(options.engine);
  if (report) {
    std::vector<reports::ReportRun> runs;
    for (std::size_t i = 0; i < answers.size(); ++i) runs.push_back({&answers[i], views[i]});
    report->write(reports::comparison_report(runs, command));
    report->commit();
    if (options.report == "-") return kDone;
  }
  answer(reports::comparison_text(answers, reports::terminal_style()),
         reports::comparison_json(answers, command), options.json);
  return kDone;
}

}  // namespace

void add_compare(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App& compare = add_command(program, "compare", "several runs side by side", kCompareHelp);
  add_option(compare, "FILE", options->files,
             "scenarios or result files; the first is the reference",
             {.required = true, .least = 2, .most = 1000});
  add_set_option(compare, options->set);
  add_engine_options(compare, options->engine);
  add_json_option(compare, options->json);
  add_option(compare, "--report", options->report, "also write one HTML page to read and send",
             {.value = "FILE"});
  on_call(compare, [options, &exit_code] { exit_code = compare_files(*options); });
}

}  // namespace paceline::cli
