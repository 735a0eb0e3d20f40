// SPDX-License-Identifier: Apache-2.0
#include "reports/compare.hpp"

#include <memory>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/scenario_options.hpp"
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
    "  paceline compare tp4.yaml tp8.yaml\n"
    "  paceline compare before.json scenarios/llama3_70b_64_h100.yaml --json -";

struct CompareOptions {
  std::vector<std::string> files, set;
  EngineChoice engine;
  std::string json;
};

reports::Answer answer_of(const std::string& file, const CompareOptions& options) {
  if (file.ends_with(".json")) {
    const base::Document document = base::read_document(file);
    if (reports::is_result(document)) return reports::read_answer(document);
  }
  const models::Scenario scenario = models::read_scenario_file(file, options.set);
  sim::PredictOptions predict = find_engine(options.engine);
  predict.energy = true;
  return reports::make_answer(
      scenario, sim::predict(scenario, predict),
      reports::run_command(file, options.set, engine_words(options.engine)));
}

int compare_files(const CompareOptions& options) {
  find_engine(options.engine);
  std::vector<reports::Answer> answers;
  std::string command = "paceline compare";
  for (const std::string& file : options.files) {
    answers.push_back(answer_of(file, options));
    command += " " + reports::shell_word(file);
  }
  for (const std::string& item : options.set) command += " --set " + reports::shell_word(item);
  command += " " + engine_words(options.engine);
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
  on_call(compare, [options, &exit_code] { exit_code = compare_files(*options); });
}

}  // namespace paceline::cli
