// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/train.hpp"

#include <chrono>
#include <limits>

#include "base/error.hpp"
#include "kernels/train/executor.hpp"
#include "models/scenario/schedule_choice.hpp"
#include "sim/predict.hpp"
#include "sim/schedules/schedule.hpp"

namespace paceline::kernels::train {
namespace {

bool never_flushes(const models::Scenario& scenario) {
  const models::ScheduleTraits* traits = models::schedule_traits(scenario.schedule.name);
  return scenario.schedule.file.empty() && traits != nullptr && traits->asynchronous;
}

double now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

Text text_of(const TrainOptions& options, const models::Scenario& scenario) {
  const bool own = !options.text.empty();
  return {own ? options.text : std::string(bundled_text()),
          own ? options.text_name : "the bundled text", scenario.batch.sequence, options.seed};
}

}  // namespace

Optimizer optimizer_of(const models::Scenario& scenario) {
  Optimizer optimizer;
  const std::string& name = scenario.optimizer.name;
  if (name == "adamw") return optimizer;
  if (name == "adam") {
    optimizer.decay = 0;
    return optimizer;
  }
  if (name != "sgd")
    throw base::Error(models::where(scenario, "optimizer.name"),
                      "'" + name + "' cannot be trained here", "adamw, adam and sgd can");
  optimizer.rule = Optimizer::Rule::Sgd;
  optimizer.rate = 0.1;
  optimizer.decay = 0;
  return optimizer;
}

sim::Program training_program(const models::Scenario& scenario, const models::Plan& plan,
                              int steps) {
  if (!never_flushes(scenario)) return sim::make_program(scenario, plan);
  sim::PipelineShape shape{scenario.parallel.pp, scenario.schedule.chunks, 0};
  shape.options = scenario.schedule.options;
  const int every = shape.options.update_every > 0 ? shape.options.update_every : shape.ranks;
  const std::int64_t microbatches = std::int64_t{steps} * every;
  const std::string where = models::where(scenario, "schedule.name");
  if (microbatches > std::numeric_limits<std::int32_t>::max())
    throw base::Error(where, std::to_string(microbatches) + " microbatches are too many",
                      "fewer steps");
  shape.microbatches = static_cast<int>(microbatches);
  return sim::find_schedule(scenario.schedule.name, where).build(shape);
}

TrainResult train_gpt(const models::Scenario& scenario, const models::Plan& plan,
                      const sim::Program& program, const Communicator& world,
                      const Backend& backend, const TrainOptions& options,
                      const std::function<void(const TrainStep&)>& on_step) {
  PACELINE_CHECK(options.steps > 0);
  const Text text = text_of(options, scenario);
  Executor executor(
      {scenario, plan, program, world, backend, text, options.optimizer, options.seed, {}});
  TrainResult result;
  result.tokens_per_step = static_cast<double>(scenario.batch.global * scenario.batch.sequence);
  while (std::ssize(result.steps) < options.steps) {
    const double begin = now();
    const std::vector<double> losses = executor.run();
    const double seconds = (now() - begin) / static_cast<double>(losses.size());
    for (const double loss : losses) {
      result.steps.push_back({static_cast<int>(result.steps.size()) + 1, loss, seconds});
      if (on_step) on_step(result.steps.back());
    }
  }
  return result;
}

}  // namespace paceline::kernels::train
