// SPDX-License-Identifier: Apache-2.0
#include "reports/validate.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "calibrate/collective_sets.hpp"
#include "cli/command.hpp"
#include "models/scenario/set.hpp"
#include "reports/predict_row.hpp"

namespace paceline::cli {
namespace {

struct ValidateOptions {
  std::vector<std::string> sets;
  std::string json, plot;
  bool rows = false;
};

/// The command that gives the same answer: sets in order, no output files.
std::string normalised(const ValidateOptions& options) {
  std::string command = "paceline validate";
  for (const std::string& set : options.sets) command += " " + set;
  return command;
}

void show_progress(const std::string& text) {
  if (isatty(STDERR_FILENO) == 0) return;
  std::fprintf(stderr, "\r\033[K%s", text.c_str());
  std::fflush(stderr);
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

int validate(const ValidateOptions& options) {
  if (options.sets == std::vector<std::string>{"nccl"}) return validate_nccl(options);
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
  const bool passed = std::all_of(suites.begin(), suites.end(),
                                  [](const reports::Suite& suite) { return suite.passed(); });
  return passed ? kDone : kAnswerIsNo;
}

}  // namespace

void add_validate(CLI::App& program, int& exit_code) {
  CLI::App* command =
      program.add_subcommand("validate", "compare predictions with published measurements");
  command->footer(
      "Without SET every published set is compared ('paceline list sets' names them); a path to a\n"
      "set file of your own works as well. Per set: mean and worst error, bias, Kendall's tau,\n"
      "and the error of one MFU for all rows. 'reaches' says goal, bound, or EXCEEDED.\n"
      "Exit status 1: a bound is exceeded.\n"
      "\n"
      "'nccl' alone compares the collective models with public nccl-tests logs: the white box, "
      "every\n"
      "size from the others of its log, every log from others of its node.\n"
      "\n"
      "  paceline validate\n"
      "  paceline validate llama-layouts --rows --plot layouts.svg");
  auto options = std::make_shared<ValidateOptions>();
  command->add_option("SET", options->sets, "sets to compare, by name or file");
  add_json_option(*command, options->json);
  command->add_option("--plot", options->plot, "write the scatter plot as SVG")->type_name("FILE");
  command->add_flag("--rows", options->rows, "also print every row");
  command->callback([options, &exit_code] { exit_code = validate(*options); });
}

}  // namespace paceline::cli
