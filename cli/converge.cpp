// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include "base/error.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/interrupts.hpp"
#include "cli/outputs.hpp"
#include "cli/progress.hpp"
#include "reports/answer.hpp"
#include "reports/convergence/report.hpp"

namespace paceline::cli {
namespace {

constexpr const char* kConvergeHelp =
    "Trains small problems for real, the way the study says: objectives x methods x optimizers,\n"
    "learning rates tuned, several seeds, all cores. The result does not depend on how many.\n"
    "Ctrl-C ends it with the table of what has finished. The exit status is 1 when something the\n"
    "study expects does not show. `paceline list objectives|optimizers|methods|experiments`\n"
    "lists what a study may name; docs/convergence.md says what the studies here show.\n"
    "\n"
    "Examples:\n"
    "  paceline converge scenarios/convergence/one_step_delay.yaml\n"
    "  paceline converge scenarios/convergence/whitening.yaml --json w.json --picture w.svg";

struct ConvergeOptions {
  std::string study, json, picture;
  int jobs = 0;
};

sim::convergence::StudyResult train(const sim::convergence::Study& study, int jobs,
                                    const std::atomic<bool>& stop) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  std::optional<Progress> progress;
  sim::convergence::RunOptions options;
  options.jobs = jobs > 0 ? jobs : std::max(cores, 1);
  options.progress = [&](std::size_t, std::size_t total) {
    if (!progress) progress.emplace("converge", total);
    progress->step();
  };
  return run_study(study, options, stop);
}

int run_converge(const ConvergeOptions& options) {
  reports::ConvergenceReport report;
  report.version = PACELINE_VERSION;
  report.file = options.study;
  report.command = "paceline converge " + reports::shell_word(options.study);
  report.study = sim::convergence::read_study(options.study);
  Outputs outputs(options.study);
  std::optional<reports::OutputFile> json = outputs.open(options.json);
  std::optional<reports::OutputFile> picture = outputs.open(options.picture);
  if (picture && report.study.cells.empty())
    throw base::Error("--picture", "draws what is trained, and this study has experiments alone");
  int signal = 0;
  {
    const Interrupts interrupts;
    report.result = train(report.study, options.jobs, interrupts.stop());
    signal = interrupts.signal();
  }
  if (json) json->write(convergence_json(report));
  if (picture) picture->write(convergence_svg(report));
  for (auto* file : {&json, &picture}) {
    if (*file) (*file)->commit();
  }
  if (options.json != "-") print(convergence_text(report));
  if (report.result.interrupted) return 128 + signal;
  return all_hold(report) ? kDone : kAnswerIsNo;
}

}  // namespace

void add_converge(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<ConvergeOptions>();
  CLI::App& converge = add_command(
      program, "converge", "small training runs: what a method does to the loss", kConvergeHelp);
  add_option(converge, "STUDY", options->study, "what to train, YAML (docs/formats.md)",
             {.required = true});
  add_option(converge, "--jobs", options->jobs, "runs at a time; default one for each core",
             {.value = "N", .least = 1, .most = 1024});
  add_option(converge, "--picture", options->picture, "also draw the curves",
             {.value = "FILE.svg"});
  add_json_option(converge, options->json);
  on_call(converge, [options, &exit_code] { exit_code = run_converge(*options); });
}

}  // namespace paceline::cli
