// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/scenario_options.hpp"
#include "reports/answer.hpp"
#include "reports/scenario_text.hpp"
#include "sim/lower/lower.hpp"
#include "sim/predict.hpp"

namespace paceline::cli {

namespace {

constexpr const char* kCheckHelp =
    "Reads a scenario, checks everything in it without predicting, and prints what Paceline\n"
    "understood: the model with its parameter count, the machine, the layout, every default it\n"
    "filled in, and every assumption. Models whose step cannot be predicted yet are shown too. A\n"
    "wrong key, unit or number is one line with file, line and column on standard error, and exit\n"
    "status 2.\n"
    "\n"
    "Examples:\n"
    "  paceline check scenarios/06_llama3_70b_64_h100.yaml\n"
    "  paceline check my.yaml --set parallel.pp=8 --json -";

struct CheckOptions {
  std::string scenario;
  std::vector<std::string> set;
  std::string json;
};

int check_scenario(const CheckOptions& options) {
  const models::Scenario scenario = models::read_scenario_file(options.scenario, options.set);
  const models::Plan plan = models::lay_out(scenario);
  const sim::Program program = sim::make_program(scenario, plan);
  // Lowering asks for every kernel and collective: what has no cost is found here.
  if (models::untimed_part(scenario.model).empty()) sim::lower(scenario, plan, program);
  std::string command = "paceline check " + reports::shell_word(options.scenario);
  for (const std::string& item : options.set) command += " --set " + reports::shell_word(item);
  answer(reports::scenario_text(scenario, plan), reports::scenario_json(scenario, plan, command),
         options.json);
  return kDone;
}

}  // namespace

void add_check(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App& check =
      add_command(program, "check", "validate a scenario and show its defaults", kCheckHelp);
  add_scenario(check, options->scenario);
  add_set_option(check, options->set);
  add_json_option(check, options->json);
  on_call(check, [options, &exit_code] { exit_code = check_scenario(*options); });
}

}  // namespace paceline::cli
