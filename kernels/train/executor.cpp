// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/executor.hpp"

#include <cmath>

#include "base/error.hpp"
#include "kernels/train/memory.hpp"

namespace paceline::kernels::train {
namespace {

/// Refuses what cannot run before anything is made.
const Job& checked(const Job& job) {
  GptShape shape = gpt_shape(job.scenario, 0);
  const int ranks = job.plan.world_size, there = job.world.size();
  if (there != ranks)
    throw base::Error(models::where(job.scenario, "parallel"),
                      "the scenario has " + std::to_string(ranks) + " ranks (tp*pp*dp), " +
                          std::to_string(there) + (there == 1 ? " is" : " are") + " here",
                      "--ranks " + std::to_string(ranks));
  const std::string where = models::where(job.scenario, "schedule");
  check_trainable(job.program, where);
  PACELINE_CHECK(std::ssize(job.program.order) == job.scenario.parallel.pp);
  PACELINE_CHECK(job.program.stages == std::ssize(job.plan.stages));
  const Place place = place_of(job.plan.meshes.front(), job.world.rank());
  const RankPlan rank = plan_rank(job.program, place.pipeline, false);
  if (job.scenario.model.tied && rank.updates) check_tied_updates(job.program, where);
  shape.recompute = shape.recompute || rank.recomputes;
  check_memory(needed_bytes(shape, job.plan, job.program, job.optimizer, place.pipeline),
               job.backend, models::where(job.scenario, "model"));
  return job;
}

[[noreturn]] void fail_at(int update, double loss) {
  throw base::Error("training",
                    "the loss of step " + std::to_string(update + 1) + " is " +
                        (std::isnan(loss) ? "not a number" : "infinite"),
                    "a smaller learning rate may help");
}

}  // namespace

Executor::Executor(const Job& job)
    : job_(checked(job)),
      place_(place_of(job.plan.meshes.front(), job.world.rank())),
      shape_(gpt_shape(job.scenario, place_.tensor)),
      device_(job.backend),
      tables_(make_tables(device_, shape_)),
      placement_(sim::placement_of(job.program)),
      groups_(make_groups(job.world, job.plan.meshes.front(), placement_)),
      channels_(device_, job.world, job.plan.meshes.front(), message_pairs(job.program),
                shape_.rows() * shape_.hidden),
      plan_(plan_rank(job.program, place_.pipeline, false)) {
  shape_.recompute = shape_.recompute || plan_.recomputes;
  for (const int number : plan_.stages) {
    Stage& stage = stages_[number];
    stage.number = number;
    stage.layout = stage_layout(shape_, job.plan.stages[static_cast<std::size_t>(number)]);
    Block weights = device_.take(stage.layout.count);
    device_.to_device(weights.floats(), initial_values(stage.layout, job.seed));
    stage.versions.emplace(0, std::move(weights));
    stage.gradients = device_.zeros(stage.layout.count);
    stage.states = optimizer_states(device_, job.optimizer, stage.layout);
  }
}

std::vector<double> Executor::run() {
  begin_run();
  for (const Step& step : plan_.steps) perform(step);
  if (!plan_.updates) end_with_update();
  channels_.end();
  const std::vector<double> losses = mean_losses();
  for (std::size_t i = 0; i < losses.size(); ++i)
    if (!std::isfinite(losses[i])) fail_at(first_update() + static_cast<int>(i), losses[i]);
  return losses;
}

void Executor::begin_run() {
  if (runs_ == 1) plan_ = plan_rank(job_.program, place_.pipeline, true);
  readers_ = plan_.readers;
  losses_.assign(static_cast<std::size_t>(plan_.update_count), 0.0);
  for (auto& [number, stage] : stages_) {  // versions count from the beginning of a run
    std::map<int, Block> renamed;
    for (auto& [version, block] : stage.versions)
      renamed.emplace(version - stage.newest, std::move(block));
    stage.versions = std::move(renamed);
    stage.newest = 0;
    if (plan_.updates) device_.clear(stage.gradients);  // those that no update has applied
  }
  channels_.begin(plan_.incoming);
  ++runs_;
}

void Executor::perform(const Step& step) {
  Stage& stage = stages_.at(step.stage);
  switch (step.pass) {
    case Pass::Forward:
      forward(step, stage);
      break;
    case Pass::Recompute:
      recompute(step, stage);
      break;
    case Pass::InputGradient:
      input_gradient(step, stage);
      break;
    case Pass::WeightGradient:
      weight_gradient(step, stage);
      break;
    case Pass::Backward:
      input_gradient(step, stage);
      weight_gradient(step, stage);
      break;
    case Pass::Update:
      return update(stage, step.version);
    case Pass::NormBarrier:  // what the norm would be taken of; nothing is clipped
      return sum_copies(stage);
  }
  used(step, stage);
}

Values Executor::weights(Stage& stage, int version) {
  return {stage.layout, stage.versions.at(version).floats()};
}

Block Executor::receive(const Step& step) {
  if (step.from < 0) return {};
  if (step.from != place_.pipeline) return channels_.receive(step.from, step.number);
  auto& waiting = step.pass == Pass::Forward ? activations_ : input_gradients_;
  const auto found = waiting.find({step.stage, step.microbatch});
  PACELINE_CHECK(found != waiting.end());
  Block block = std::move(found->second);
  waiting.erase(found);
  return block;
}

void Executor::deliver(const Step& step, Block message) {
  if (step.to < 0) return;
  if (step.to != place_.pipeline) return channels_.send(step.to, std::move(message));
  const bool forward = step.pass == Pass::Forward;
  auto& waiting = forward ? activations_ : input_gradients_;
  waiting.emplace(Key{step.stage + (forward ? 1 : -1), step.microbatch}, std::move(message));
}

StageInput Executor::input_of(const Step& step, const Stage& stage) {
  StageInput input;
  input.x = receive(step);
  if (!stage.layout.embedding && !stage.layout.head) return input;
  const int replicas = job_.scenario.parallel.dp;
  const std::int64_t microbatch = (runs_ - 1) * job_.program.microbatches + step.microbatch;
  const std::int64_t first = (microbatch * replicas + place_.data) * shape_.sequences;
  Text::Batch batch = job_.text.batch(first, shape_.sequences);
  input.tokens = std::move(batch.tokens);
  input.targets = std::move(batch.targets);
  return input;
}

void Executor::forward(const Step& step, Stage& stage) {
  StageRecord& record = stage.records[step.microbatch];
  record = begin_record(context(), stage.layout, input_of(step, stage));
  Block output = stage_forward(context(), stage.layout, weights(stage, step.version), record);
  if (stage.layout.head) {
    const double loss = mean_loss(context(), record);
    // Where updates stand in the order, nobody looks at the loss before the end of the run.
    if (plan_.updates && !std::isfinite(loss)) fail_at(first_update() + step.update, loss);
    if (step.update < plan_.update_count && place_.tensor == 0)
      losses_[static_cast<std::size_t>(step.update)] +=
          loss / (step.together * job_.scenario.parallel.dp);
  }
  deliver(step, std::move(output));
  if (shape_.recompute) forget(record);
}

void Executor::recompute(const Step& step, Stage& stage) {
  StageRecord& record = stage.records.at(step.microbatch);
  stage_forward(context(), stage.layout, weights(stage, step.version), record);
}

void Executor::input_gradient(const Step& step, Stage& stage) {
  StageRecord& record = stage.records.at(step.microbatch);
  Block d_output = receive(step);
  if (shape_.recompute && record.layers.empty()) recompute(step, stage);
  const double microbatches = double{1} * step.together * job_.scenario.parallel.dp;
  Block d_input =
      stage_backward(context(), stage.layout, weights(stage, step.version), record,
                     std::move(d_output), 1 / (microbatches * static_cast<double>(shape_.rows())));
  deliver(step, std::move(d_input));
}

void Executor::weight_gradient(const Step& step, Stage& stage) {
  stage_weight_gradients(context(), stage.layout, stage.records.at(step.microbatch),
                         gradients(stage));
}

bool Executor::keeps(const Stage& stage, int version) const {
  const bool delayed = job_.program.weights == sim::Weights::Delayed;
  if (version >= stage.newest - (delayed ? 1 : 0)) return true;
  const auto readers = readers_.find({stage.number, version});
  return readers != readers_.end() && readers->second > 0;
}

void Executor::used(const Step& step, Stage& stage) {
  if (step.pass != Pass::WeightGradient) --readers_.at({step.stage, step.version});
  if (!keeps(stage, step.version)) stage.versions.erase(step.version);
  if (step.last) stage.records.erase(step.microbatch);
}

}  // namespace paceline::kernels::train
