// SPDX-License-Identifier: Apache-2.0
#include "reports/validate.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "calibrate/collective_sets.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/progress.hpp"
#include "cli/validate_here.hpp"
#include "cli/validate_power.hpp"
#include "models/scenario/set.hpp"
#include "models/scenario/system.hpp"
#include "reports/predict_row.hpp"
#include "reports/schedule_tables.hpp"
#include "reports/systems.hpp"

namespace paceline::cli {
namespace {

constexpr const char* kValidateHelp =
    "Without SET every published set is compared ('paceline list sets' names them); a path to a\n"
    "set file of your own works as well. Per set: mean and worst error, bias, Kendall's tau,\n"
    "and the error of one MFU for all rows. 'reaches' says goal, bound, or EXCEEDED.\n"
    "Exit status 1: a bound is exceeded.\n"
    "\n"
    "'nccl' alone compares the collective models with public nccl-tests logs: the white box,\n"
    "every size from the others of its log, every log from others of its node.\n"
    "'systems' alone compares published systems with what their authors claim.\n"
    "'schedules' alone compares pipeline schedules with published figures and closed forms.\n"
    "'power' alone compares time and power under power caps with a public sweep over GPUs.\n"
    "'here' alone measures this machine, fits a profile, predicts and runs small trainings on two\n"
    "processes and compares; it refuses a busy machine (exit status 1).\n"
    "\n"
    "  paceline validate\n"
    "  paceline validate llama-layouts --rows --plot layouts.svg";

struct ValidateOptions {
  std::vector<std::string> sets;
  std::string json, plot;
  bool rows = false;
  HereOptions here;
};

/// The command that gives the same answer: sets in order, no output files.
std::string normalised(const ValidateOptions& options) {
  std::string command = "paceline validate";
  for (const std::string& set : options.sets) command += " " + set;
  return command;
}

/// The collective model against public benchmark logs: `nccl` in place of a set.
int validate_nccl(const ValidateOptions& options) {
  if (options.rows || !options.plot.empty())
    throw base::Error("--plot and --rows", "do not go with nccl", "--json holds every row");
  const std::string beside = models::set_file(models::set_names().front());
  const std::string folder = beside.substr(0, beside.find_last_of('/') + 1);
  const auto results = calibrate::validate_collectives(folder + "nccl/sets.yaml");
  answer(calibrate::collective_report(results),
         options.json.empty() ? "" : calibrate::collective_json(results, normalised(options)),
         options.json);
  return calibrate::collectives_within_bounds(results) ? kDone : kAnswerIsNo;
}

/// Published systems: `systems` in place of a set. A status is an answer, whatever it says.
int validate_systems(const ValidateOptions& options) {
  if (options.rows || !options.plot.empty())
    throw base::Error("--plot and --rows", "do not go with systems", "every system is a row");
  std::vector<reports::SystemCase> cases;
  for (models::System& system : models::read_systems(models::systems_file())) {
    show_progress("validate systems: " + system.id);
    cases.push_back(reports::validate_system(std::move(system)));
  }
  show_progress("");
  answer(reports::systems_table(cases),
         options.json.empty() ? "" : reports::systems_json(cases, normalised(options)),
         options.json);
  return kDone;
}

bool all_passed(const std::vector<reports::Suite>& suites) {
  return std::all_of(suites.begin(), suites.end(),
                     [](const reports::Suite& suite) { return suite.passed(); });
}

/// Published figures and closed forms of schedules: `schedules` in place of a set.
int validate_schedules(const ValidateOptions& options) {
  if (options.rows || !options.plot.empty())
    throw base::Error("--plot and --rows", "do not go with schedules", "every row is shown");
  std::vector<reports::Suite> suites;
  for (const std::string& file : reports::schedule_table_files()) {
    std::vector<reports::Suite> more =
        reports::validate_schedules(reports::read_schedule_table(file));
    std::move(more.begin(), more.end(), std::back_inserter(suites));
  }
  answer(reports::validation_table(suites) + reports::schedule_rows(suites),
         options.json.empty() ? "" : reports::validation_json(suites, normalised(options)),
         options.json);
  return all_passed(suites) ? kDone : kAnswerIsNo;
}

/// The law of power caps: `power` in place of a set.
int validate_power(const ValidateOptions& options) {
  if (!options.plot.empty()) throw base::Error("--plot", "does not go with power");
  const std::vector<reports::Suite> suites = power_suites();
  std::string text = reports::validation_table(suites);
  if (options.rows) text += "\n" + reports::validation_rows(suites);
  answer(text, options.json.empty() ? "" : reports::validation_json(suites, normalised(options)),
         options.json);
  return all_passed(suites) ? kDone : kAnswerIsNo;
}

int validate(const ValidateOptions& options) {
  if (options.sets == std::vector<std::string>{"here"}) {
    HereOptions here = options.here;
    here.json = options.json;
    return validate_here(here);
  }
  if (options.sets == std::vector<std::string>{"nccl"}) return validate_nccl(options);
  if (options.sets == std::vector<std::string>{"systems"}) return validate_systems(options);
  if (options.sets == std::vector<std::string>{"schedules"}) return validate_schedules(options);
  if (options.sets == std::vector<std::string>{"power"}) return validate_power(options);
  for (const char* alone : {"systems", "schedules", "power", "here"}) {
    if (std::find(options.sets.begin(), options.sets.end(), alone) != options.sets.end())
      throw base::Error(alone, "stands alone", "validate sets in a run of their own");
  }
  const std::vector<std::string> names = options.sets.empty() ? models::set_names() : options.sets;
  std::vector<reports::Suite> suites;
  for (std::size_t i = 0; i < names.size(); ++i) {
    show_progress("validate " + names[i] + " (" + std::to_string(i + 1) + " of " +
                  std::to_string(names.size()) + ")");
    const models::MeasuredSet set = models::read_set(models::set_file(names[i]));
    std::vector<reports::Suite> more = reports::validate_set(set, reports::predict_row);
    std::move(more.begin(), more.end(), std::back_inserter(suites));
  }
  show_progress("");
  std::string text = reports::validation_table(suites);
  if (options.rows) text += "\n" + reports::validation_rows(suites);
  if (!options.plot.empty()) base::write_file(options.plot, reports::validation_plot(suites));
  answer(text, options.json.empty() ? "" : reports::validation_json(suites, normalised(options)),
         options.json);
  return all_passed(suites) ? kDone : kAnswerIsNo;
}

}  // namespace

void add_validate(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<ValidateOptions>();
  CLI::App& command = add_command(program, "validate",
                                  "compare predictions with published measurements", kValidateHelp);
  add_option(command, "SET", options->sets, "sets to compare, by name or file");
  add_json_option(command, options->json);
  add_option(command, "--plot", options->plot, "write the scatter plot as SVG", {.value = "FILE"});
  add_flag(command, "--rows", options->rows, "also print every row");
  add_option(command, "--folder", options->here.folder, "of 'here': where samples and profile go",
             {.value = "FOLDER"});
  add_flag(command, "--busy", options->here.busy, "of 'here': go on on a busy machine");
  add_flag(command, "--quick", options->here.quick,
           "of 'here': a tiny model, to see that everything works");
  on_call(command, [options, &exit_code] { exit_code = validate(*options); });
}

}  // namespace paceline::cli
