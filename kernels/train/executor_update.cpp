// SPDX-License-Identifier: Apache-2.0
// Gradients of all ranks, and what becomes of the weights.
#include <cmath>

#include "base/error.hpp"
#include "kernels/train/executor.hpp"

namespace paceline::kernels::train {
namespace {

constexpr std::int64_t kDouble = sizeof(double);

/// By rank, the doubles of all ranks.
std::vector<double> gathered(const Communicator& world, const std::vector<double>& own) {
  const std::int64_t bytes = std::ssize(own) * kDouble;
  std::vector<double> send = own;
  std::vector<double> all(own.size() * static_cast<std::size_t>(world.size()));
  all_gather(world.host(), {send.data(), DType::U8, bytes},
             {all.data(), DType::U8, bytes * world.size()});
  return all;
}

}  // namespace

void Executor::sum_copies(Stage& stage) {
  const auto copies = groups_.copies.find(stage.number);
  if (!stage.summed && copies != groups_.copies.end())
    all_reduce(copies->second, stage.gradients.floats(), stage.gradients.floats(), Reduction::Sum,
               device_.stream());
  stage.summed = true;
}

// Both ends of the pipeline hold the matrix and update it with the sum of their gradients. Of
// several copies of an end the first contributes: sum_copies has made them equal.
void Executor::sum_tied(std::span<Stage* const> stages) {
  Block sum;
  for (Stage* stage : stages) {
    const std::vector<int>& holders = placement_.ranks[static_cast<std::size_t>(stage->number)];
    if (stage->layout.tied < 0) continue;
    const Tensor own = gradients(*stage).of(stage->layout.tied);
    if (!sum) sum = device_.zeros(own.count);
    if (holders.front() == place_.pipeline) accumulate(context(), own, sum.floats());
  }
  if (!sum) return;
  if (groups_.ends)
    all_reduce(*groups_.ends, sum.floats(), sum.floats(), Reduction::Sum, device_.stream());
  for (Stage* stage : stages)
    if (stage->layout.tied >= 0)
      device_.copy(sum.floats(), gradients(*stage).of(stage->layout.tied));
}

void Executor::end_with_update() {
  std::vector<Stage*> all;
  for (auto& [number, stage] : stages_) {
    sum_copies(stage);
    all.push_back(&stage);
  }
  sum_tied(all);
  for (Stage* stage : all) step_weights(*stage, 0);
}

void Executor::update(Stage& stage, int version) {
  sum_copies(stage);
  Stage* const one[] = {&stage};
  sum_tied(one);
  const bool delayed = job_.program.weights == sim::Weights::Delayed;
  const int newest = stage.newest++;
  PACELINE_CHECK(newest == version);
  // In place, where nobody needs what was there.
  Block& old = stage.versions.at(newest);
  const bool copy = delayed || keeps(stage, newest);
  Block weights = copy ? device_.copy_of(old.floats()) : std::move(old);
  if (!copy) stage.versions.erase(newest);
  stage.versions.emplace(stage.newest, std::move(weights));
  const int before = newest - (delayed ? 1 : 0);
  if (copy && !keeps(stage, before)) stage.versions.erase(before);
  step_weights(stage, version);
}

/// Moves the newest weights by the gradients, which begin again.
void Executor::step_weights(Stage& stage, int update) {
  if (job_.on_gradient) {
    const int number = first_update() + update;
    for (std::size_t i = 0; i < stage.layout.parameters.size(); ++i)
      job_.on_gradient({number, stage.layout.parameters[i],
                        device_.to_host(gradients(stage).of(static_cast<int>(i)))});
  }
  optimizer_step(device_, job_.optimizer, stage.layout, stage.versions.at(stage.newest),
                 stage.gradients, stage.states, ++stage.steps);
  device_.clear(stage.gradients);
  stage.summed = false;
}

std::vector<double> Executor::mean_losses() {
  const std::vector<double> all = gathered(job_.world, losses_);
  std::vector<double> mean(losses_.size(), 0.0);
  for (std::size_t i = 0; i < all.size(); ++i) mean[i % mean.size()] += all[i];
  return mean;
}

void Executor::for_each_weight(
    const std::function<void(const Parameter&, std::vector<float>)>& f) const {
  for (const auto& [number, stage] : stages_) {
    const Block& weights = stage.versions.at(stage.newest);
    for (const Parameter& p : stage.layout.parameters)
      f(p, device_.to_host(weights.floats(p.offset, p.count())));
  }
}

}  // namespace paceline::kernels::train
