// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/outputs.hpp"
#include "cli/progress.hpp"
#include "cli/scenario_options.hpp"
#include "reports/html/report.hpp"
#include "reports/result_json.hpp"
#include "reports/text.hpp"
#include "reports/timeline.hpp"
#include "reports/trace.hpp"
#include "sim/predict.hpp"

namespace paceline::cli {

namespace {

constexpr const char* kRunHelp =
    "Predicts one scenario: how long a training step takes, where the time goes, and how much\n"
    "memory every rank needs. The scenario is a YAML file that names a model, a cluster, a\n"
    "software stack and a parallel layout; --set changes single values of it without editing the\n"
    "file. The exit status is 1 when the job does not fit into memory (the answer is printed all\n"
    "the same).\n"
    "\n"
    "Examples:\n"
    "  paceline run scenarios/06_llama3_70b_64_h100.yaml\n"
    "  paceline run scenarios/06_llama3_70b_64_h100.yaml --set parallel.tp=8 --set batch.micro=2\n"
    "  paceline run scenarios/06_llama3_70b_64_h100.yaml --report step.html   (open in a browser)\n"
    "  paceline run scenarios/06_llama3_70b_64_h100.yaml --trace step.json   (open in "
    "ui.perfetto.dev)\n"
    "  paceline run scenarios/06_llama3_70b_64_h100.yaml --json - | jq .step_time_s";

struct RunOptions {
  std::string scenario;
  EngineChoice engine;
  std::vector<std::string> set;
  std::optional<std::string> tokens;
  std::string json, trace, picture, report;
};

struct RunOutputs {
  std::optional<reports::OutputFile> json, trace, picture, report;
};

RunOutputs open_outputs(const RunOptions& options) {
  Outputs outputs(options.scenario);
  RunOutputs out;
  const auto open = [&](const std::string& path, std::optional<reports::OutputFile>& file) {
    if (auto opened = outputs.open(path)) file.emplace(std::move(*opened));
  };
  open(options.json, out.json);
  open(options.trace, out.trace);
  open(options.picture, out.picture);
  open(options.report, out.report);
  return out;
}

void write_outputs(RunOutputs& out, const models::Scenario& scenario, const reports::Answer& answer,
                   const sim::Prediction& prediction) {
  if (out.json) out.json->write(reports::to_json(answer));
  if (out.picture) out.picture->write(reports::timeline_svg(answer, prediction));
  if (out.report) {
    out.report->write(reports::run_report({&answer, reports::report_view(scenario, prediction)}));
  }
  if (out.trace) {
    const std::size_t events = reports::write_trace(
        answer, prediction, [&](std::string_view text) { out.trace->write(text); });
    if (events > reports::kComfortableEvents) {
      std::fprintf(stderr, "paceline: the trace has %zu events; viewers may be slow\n", events);
    }
  }
  // All or none: nothing appears before everything is written.
  for (auto* file : {&out.json, &out.trace, &out.picture, &out.report}) {
    if (*file) (*file)->flush();
  }
  for (auto* file : {&out.json, &out.trace, &out.picture, &out.report}) {
    if (*file) (*file)->commit();
  }
}

/// Large batches and many repetitions of jitter take a while.
sim::Prediction predict_with_progress(const models::Scenario& scenario,
                                      sim::PredictOptions options) {
  const int sampled = scenario.batch.documents ? scenario.batch.documents->steps : 0;
  const int repetitions = scenario.jitter ? scenario.jitter->repetitions : sampled;
  Progress progress("run: repetitions", static_cast<std::size_t>(repetitions));
  show_progress("run: one step");
  options.repetitions_begun = [&](std::size_t count) { progress.reached(count); };
  return sim::predict(scenario, options);
}

int run_scenario(RunOptions options) {
  if (options.tokens) options.set.push_back("run.tokens=" + *options.tokens);
  if (!options.report.empty()) reports::require_report_library();
  sim::PredictOptions predict = find_engine(options.engine);
  predict.inner = !options.trace.empty() || !options.report.empty();
  predict.energy = true;
  const models::Scenario scenario = models::read_scenario_file(options.scenario, options.set);
  RunOutputs outputs = open_outputs(options);
  const sim::Prediction prediction = predict_with_progress(scenario, predict);
  const reports::Answer answer = reports::make_answer(
      scenario, prediction,
      reports::run_command(options.scenario, options.set, engine_words(options.engine)));
  write_outputs(outputs, scenario, answer, prediction);
  const bool to_pipe = options.json == "-" || options.trace == "-" || options.picture == "-" ||
                       options.report == "-";
  if (!to_pipe) print(to_text(answer, reports::terminal_style()));
  return answer.result.fits() ? kDone : kAnswerIsNo;
}

}  // namespace

void add_run(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  CLI::App& run = add_command(program, "run", "predict one scenario", kRunHelp);
  add_scenario(run, options->scenario);
  add_option(run, "--tokens", options->tokens,
             "of the whole training: also days, energy and, with prices,\n"
             "cost; the same as --set run.tokens=N",
             {.value = "N"});
  add_set_option(run, options->set);
  add_engine_options(run, options->engine);
  add_json_option(run, options->json);
  add_option(run, "--trace", options->trace, "also write a Chrome trace, for Perfetto",
             {.value = "FILE"});
  add_option(run, "--report", options->report, "also write one HTML page to read and send",
             {.value = "FILE"});
  add_option(run, "--picture", options->picture, "also draw the timeline as SVG",
             {.value = "FILE"});
  on_call(run, [options, &exit_code] { exit_code = run_scenario(*options); });
}

}  // namespace paceline::cli
