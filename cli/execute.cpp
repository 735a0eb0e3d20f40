// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/message.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/outputs.hpp"
#include "cli/processes.hpp"
#include "cli/scenario_options.hpp"
#include "kernels/collective/world.hpp"
#include "kernels/hardware_engine/hardware.hpp"
#include "kernels/train/train.hpp"
#include "reports/execution.hpp"
#include "reports/result_json.hpp"
#include "reports/trace.hpp"
#include "sim/lower/stage_work.hpp"
#include "sim/measure.hpp"
#include "sim/predict.hpp"

namespace paceline::cli {
namespace {

constexpr const char* kExecuteHelp =
    "Runs a scenario for real, with its own kernels, messages and collectives in the order of its\n"
    "schedule, and shows measured beside predicted. One process per rank: they are started here,\n"
    "or already there under mpirun and srun. The scenario's cluster should be this machine:\n"
    "'paceline bench' and 'paceline calibrate' write its device and profile.\n"
    "\n"
    "Examples:\n"
    "  paceline execute small.yaml\n"
    "  paceline execute small.yaml --steps 9 --trace both.json\n"
    "  paceline execute small.yaml --json measured.json   (for compare)\n"
    "  paceline execute small.yaml --train --steps 50 --text my.txt";

struct ExecuteOptions {
  std::string scenario, backend = "cpu";
  std::vector<std::string> set;
  int ranks = 0, steps = 5;
  bool train = false;
  std::string text;
  int seed = 1;
  std::string json, details, trace;
};

struct Files {
  std::optional<reports::OutputFile> json, details, trace;
};

Files open_files(const ExecuteOptions& options) {
  Outputs outputs(options.scenario);
  Files files;
  const auto open = [&](const std::string& path, std::optional<reports::OutputFile>& file) {
    if (auto opened = outputs.open(path)) file.emplace(std::move(*opened));
  };
  open(options.json, files.json);
  open(options.details, files.details);
  open(options.trace, files.trace);
  return files;
}

int ranks_of(const ExecuteOptions& options, const models::Scenario& scenario) {
  const int needed = scenario.parallel.world_size();
  if (options.ranks == 0 || options.ranks == needed) return needed;
  throw base::Error("--ranks",
                    "the scenario's layout has " + std::to_string(needed) + " ranks, not " +
                        std::to_string(options.ranks),
                    "leave --ranks out, or change parallel with --set");
}

std::string command_of(const ExecuteOptions& options) {
  std::string command = reports::run_command(options.scenario, options.set, "--backend ");
  command.replace(command.find(" run "), 5, " execute ");
  command += options.backend;
  if (options.train) command += " --train --seed " + std::to_string(options.seed);
  if (!options.text.empty()) command += " --text " + reports::shell_word(options.text);
  if (options.steps != ExecuteOptions{}.steps)
    command += " --steps " + std::to_string(options.steps);
  return command;
}

reports::Execution execution_of(const ExecuteOptions& options, const models::Scenario& scenario,
                                const sim::Prediction& predicted, const hardware::Run& run,
                                const kernels::Backend& backend) {
  const std::string command = command_of(options);
  sim::Prediction measured = predicted;
  measured.timeline = run.timeline;
  const auto steady = !sim::repeats(scenario)
                          ? std::optional<sim::SteadyState>()
                          : sim::steady_state(predicted.program, predicted.graph, run.timeline,
                                              predicted.plan.microbatches);
  measured.result =
      sim::measure(scenario, predicted.graph, run.timeline, steady,
                   sim::work_needs(predicted.program, scenario.batch.sequence).forward_only);
  measured.result.engine = "hardware";
  reports::Execution e;
  e.predicted = reports::make_answer(
      scenario, predicted,
      reports::run_command(options.scenario, options.set, "--engine reference"));
  e.measured = reports::make_answer(scenario, measured, command);
  e.backend = options.backend;
  e.device = backend.device();
  e.ranks = scenario.parallel.world_size();
  e.step_seconds = run.step_seconds;
  e.work = reports::work_rows(predicted.graph, predicted.timeline, run.timeline);
  e.notes = run.substitutes;
  return e;
}

void write_files(Files& files, const reports::Execution& e, const sim::Prediction& both) {
  if (files.json) files.json->write(reports::to_json(e.measured));
  if (files.details) files.details->write(reports::execution_json(e));
  if (files.trace) {
    reports::write_trace(e.measured, both,
                         [&](std::string_view text) { files.trace->write(text); });
  }
  for (auto* file : {&files.json, &files.details, &files.trace}) {
    if (*file) (*file)->flush();
  }
  for (auto* file : {&files.json, &files.details, &files.trace}) {
    if (*file) (*file)->commit();
  }
}

std::string train_json(const ExecuteOptions& options, const kernels::train::TrainResult& result) {
  base::JsonWriter json;
  json.begin_object().field("schema", "paceline-training-1").field("version", PACELINE_VERSION);
  json.field("command", std::string_view(command_of(options)));
  json.field("tokens_per_step", result.tokens_per_step).key("steps").begin_array();
  for (const kernels::train::TrainStep& step : result.steps) {
    json.begin_object().field("step", step.step).field("loss", step.loss);
    json.field("seconds", step.seconds).end_object();
  }
  json.end_array().end_object();
  return json.finish();
}

std::string train_row(const kernels::train::TrainStep& step) {
  return reports::pad_left(std::to_string(step.step), 6) +
         reports::pad_left(base::format_fixed(step.loss, 4), 10) +
         reports::pad_left(base::format_seconds(base::Seconds(step.seconds)), 12) + "\n";
}

/// A real small GPT in place of kernels on made-up inputs.
int train(const ExecuteOptions& options, const models::Scenario& scenario,
          const kernels::Backend& backend, int ranks) {
  kernels::train::TrainOptions train;
  train.steps = options.steps;
  train.seed = static_cast<std::uint64_t>(options.seed);
  train.optimizer = kernels::train::optimizer_of(scenario);
  if (!options.text.empty()) {
    train.text = base::read_file(options.text);
    train.text_name = options.text;
  }
  const models::Plan plan = models::make_plan(scenario);
  const sim::Program program = kernels::train::training_program(scenario, plan, options.steps);
  if (const std::optional<int> status = start_ranks(ranks, backend)) return *status;
  const kernels::Communicator world = kernels::world_of(backend);
  // Rows come as steps end: whatever stops the training leaves those that were done.
  const bool shown = world.rank() == 0 && options.json != "-";
  if (shown)
    print(scenario.name + ", " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
          ", seed " + std::to_string(options.seed) + "\n  step      loss        time\n");
  const kernels::train::TrainResult result = kernels::train::train_gpt(
      scenario, plan, program, world, backend, train, [&](const kernels::train::TrainStep& step) {
        if (shown) print(train_row(step));
      });
  if (world.rank() == 0 && !options.json.empty())
    answer("", train_json(options, result), options.json);
  return kDone;
}

/// Options that would change nothing are refused: someone expects them to.
void check_options(const ExecuteOptions& o) {
  const auto refuse = [](bool given, const char* option, const char* why) {
    if (given) throw base::Error(option, why, "leave it out");
  };
  const char* const of_train = "is of --train";
  const char* const timed = "means nothing to --train, which predicts nothing";
  refuse(!o.train && !o.text.empty(), "--text", of_train);
  refuse(!o.train && o.seed != ExecuteOptions{}.seed, "--seed", of_train);
  refuse(o.train && !o.details.empty(), "--details", timed);
  refuse(o.train && !o.trace.empty(), "--trace", timed);
}

int execute(const ExecuteOptions& options) {
  check_options(options);
  const models::Scenario scenario = models::read_scenario_file(options.scenario, options.set);
  const int ranks = ranks_of(options, scenario);
  const kernels::Backend& backend = kernels::backend_named(options.backend);
  if (options.train) return train(options, scenario, backend, ranks);
  const sim::Prediction predicted = sim::predict(scenario, {.kernels = true});
  if (const std::optional<int> status = start_ranks(ranks, backend)) return *status;
  const kernels::Communicator world = kernels::world_of(backend);
  Files files = world.rank() == 0 ? open_files(options) : Files{};
  const hardware::Run run = hardware::run(predicted.graph, sim::engine_options(scenario), backend,
                                          world, {.steps = options.steps});
  if (world.rank() != 0) return kDone;
  const reports::Execution e = execution_of(options, scenario, predicted, run, backend);
  write_files(files, e,
              files.trace ? reports::side_by_side(predicted, run.timeline) : sim::Prediction());
  const bool to_pipe = options.json == "-" || options.details == "-" || options.trace == "-";
  if (!to_pipe) print(reports::execution_text(e, reports::terminal_style()));
  return kDone;
}

}  // namespace

void add_execute(CLI::App& program, int& exit_code) {
  auto options = std::make_shared<ExecuteOptions>();
  CLI::App& command =
      add_command(program, "execute", "run a scenario for real, and compare", kExecuteHelp);
  add_option(command, "SCENARIO", options->scenario, "the scenario, a YAML or JSON file",
             {.required = true});
  add_option(command, "--backend", options->backend, "cpu, or cuda: one process per GPU",
             {.value = "NAME"});
  add_option(command, "--ranks", options->ranks, "processes; must be those of the layout",
             {.value = "N", .least = 1, .most = 4096});
  add_option(command, "--steps", options->steps, "steps to measure after one to warm up",
             {.value = "N", .least = 1, .most = 1000});
  add_flag(command, "--train", options->train,
           "train a real small GPT through the schedule instead; prints its loss");
  add_option(command, "--text", options->text,
             "of --train: bytes to learn from; default: a bundled text", {.value = "FILE"});
  add_option(command, "--seed", options->seed, "of --train: of weights and batches",
             {.value = "N", .least = 1, .most = 1000000000});
  add_set_option(command, options->set);
  add_json_option(command, options->json);
  add_option(command, "--details", options->details, "also write predicted and measured by kernel",
             {.value = "FILE"});
  add_option(command, "--trace", options->trace,
             "also write a Chrome trace with both timelines, for Perfetto", {.value = "FILE"});
  on_call(command, [options, &exit_code] { exit_code = execute(*options); });
}

}  // namespace paceline::cli
