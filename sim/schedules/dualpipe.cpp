// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/dualpipe.hpp"

#include "base/error.hpp"

namespace paceline::sim {
namespace {

class Steps {
 public:
  void forward(int phase, bool fused = false) {
    actions_.push_back({kForward, fused, phase, forwards_[phase]++});
  }
  void backward(int phase) { actions_.push_back({kBackward, false, phase, backwards_[phase]++}); }
  void input_gradient(int phase) {
    actions_.push_back({kDualB, false, phase, backwards_[phase]++});
    waiting_.push_back(actions_.back());
  }
  /// The oldest weight gradient put off.
  void weight_gradient() {
    PhaseAction action = waiting_[next_++];
    action.pass = kDualW;
    actions_.push_back(action);
  }
  void forward_and_backward(int phase) {
    forward(phase, true);
    backward(1 - phase);
  }
  std::vector<PhaseAction> take() { return std::move(actions_); }

 private:
  std::vector<PhaseAction> actions_, waiting_;
  std::size_t next_ = 0;
  int forwards_[2] = {0, 0}, backwards_[2] = {0, 0};
};

}  // namespace

std::vector<PhaseAction> dualpipe_steps(int half, int position, int count) {
  const int inner = half - position - 1, outer = position + 1;
  Steps steps;
  for (int i = 0; i < 2 * inner; ++i) steps.forward(0);
  for (int i = 0; i < outer; ++i) {
    steps.forward(0);
    steps.forward(1);
  }
  for (int i = 0; i < inner; ++i) {
    steps.input_gradient(1);
    steps.weight_gradient();
    steps.forward(1);
  }
  for (int i = 0; i < count - 2 * half + outer; ++i) {
    steps.forward_and_backward(0);
    steps.forward_and_backward(1);
  }
  for (int i = 0; i < inner; ++i) {
    steps.backward(1);
    steps.forward_and_backward(1);
  }
  for (int i = 0; i < 2 * outer; ++i) {
    const int phase = 1 - i % 2;
    if (i < outer) {
      steps.backward(phase);
    } else {
      steps.input_gradient(phase);
    }
  }
  for (int i = 0; i < inner; ++i) {
    steps.weight_gradient();
    steps.input_gradient(0);
  }
  for (int i = 0; i < outer; ++i) steps.weight_gradient();
  return steps.take();
}

void check_two_per_rank(const PipelineShape& shape, const char* schedule) {
  if (shape.microbatches >= 2 * shape.ranks) return;
  throw base::Error(schedule,
                    std::to_string(shape.microbatches) + " microbatches are too few for " +
                        std::to_string(shape.ranks) + " pipeline ranks",
                    "at least " + std::to_string(2 * shape.ranks) + ", two per rank");
}

Program dualpipe_program(const PipelineShape& shape) {
  Program program = empty_program(shape);
  program.passes = {{"F", Direction::Down, {}, {}},
                    {"BW", Direction::Up, {kForward}, {kForward}},
                    {"B", Direction::Up, {kForward}, {}},
                    {"W", Direction::None, {kDualB}, {kForward}}};
  return program;
}

// DeepSeek-V3 technical report (arXiv 2412.19437), section 3.2.1: microbatches enter at both ends,
// and in the middle of the step the forward of one direction runs together with the backward of the
// other (a fused pair; without a stated overlap it takes the sum of both). Even microbatches enter
// at rank 0, odd ones at the last rank. Weight gradients are put off only where a rank would wait.
Program dualpipe(const PipelineShape& shape) {
  check_chunks(shape, "dualpipe", 1);
  check_multiple(shape.ranks, 2, "pipeline ranks", "schedule dualpipe", "two mirrored halves");
  check_two_per_rank(shape, "schedule dualpipe");
  check_multiple(shape.microbatches, 2, "microbatches", "schedule dualpipe", "the two directions");
  Program program = dualpipe_program(shape);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const bool upper = rank >= shape.ranks / 2;  // there phase 0 is the other direction
    const int position = upper ? shape.ranks - 1 - rank : rank;
    for (const PhaseAction& step :
         dualpipe_steps(shape.ranks / 2, position, shape.microbatches / 2)) {
      const int direction = upper ? 1 - step.phase : step.phase;
      Action action = stage_action(step.pass, direction == 0 ? rank : shape.ranks - 1 - rank,
                                   2 * step.index + direction);
      action.fused = step.fused;
      program.order[static_cast<std::size_t>(rank)].push_back(action);
    }
  }
  return program;
}

}  // namespace paceline::sim
