// SPDX-License-Identifier: Apache-2.0
#include "base/rng.hpp"
#include "sim/schedules/asynchronous.hpp"
#include "sim/updates.hpp"

namespace paceline::sim {
namespace {

/// The passes that can run now, by stage.
class RandomPipeline {
 public:
  explicit RandomPipeline(const PipelineShape& shape)
      : shape_(shape), ready_(static_cast<std::size_t>(shape.ranks)), rng_(shape.options.seed) {
    for (int k = 0; k < shape.ranks; ++k) admit();
  }

  /// One at random of a stage drawn at random among those that have any.
  Action draw() {
    std::vector<Action>* of = nullptr;
    do {
      of = &ready_[rng_.below(ready_.size())];
    } while (of->empty());
    Action& picked = (*of)[rng_.below(of->size())];
    const Action action = picked;
    picked = of->back();
    of->pop_back();
    follow(action);
    return action;
  }

 private:
  void admit() {
    if (admitted_ < shape_.microbatches)
      ready_.front().push_back(stage_action(kForward, 0, admitted_++));
  }

  void follow(Action action) {
    if (action.pass == kForward && action.stage + 1 < shape_.ranks) {
      ++action.stage;
    } else if (action.pass == kForward) {
      action.pass = kBackward;
    } else if (action.stage > 0) {
      --action.stage;
    } else {
      return admit();
    }
    ready_[static_cast<std::size_t>(action.stage)].push_back(action);
  }

  const PipelineShape& shape_;
  std::vector<std::vector<Action>> ready_;
  base::Rng rng_;
  int admitted_ = 0;
};

}  // namespace

// Randomized PipeDream ("Demystifying Pipeline Parallelism"): the process its theory studies draws
// a stage and a batch and updates that block of the weights alone, from a stale read. Here as an
// order that a pipeline can run: again and again a stage is drawn, and of it one of the
// microbatches it could work on, forward or backward; a backward is followed by the update of its
// stage. At most as many microbatches as stages are in flight, as in PipeDream. Restricting the
// draw to what can run is our reading: the theory draws independently and bounds the delay instead.
Program rpd_pipedream(const PipelineShape& shape) {
  check_one_chunk(shape, "rpd-pipedream");
  Program program = two_pass_program(shape);
  const std::uint8_t update = add_update_pass(program);
  program.weights = Weights::Stash;
  RandomPipeline pipeline(shape);
  const std::int64_t draws = 2 * std::int64_t{shape.ranks} * shape.microbatches;
  for (std::int64_t i = 0; i < draws; ++i) {
    Action action = pipeline.draw();
    auto& order = program.order[static_cast<std::size_t>(action.stage)];
    order.push_back(action);
    if (action.pass != kBackward) continue;
    action.pass = update;
    order.push_back(action);
  }
  return program;
}

}  // namespace paceline::sim
