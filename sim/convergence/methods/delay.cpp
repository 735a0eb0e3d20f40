// SPDX-License-Identifier: Apache-2.0
#include <deque>

#include "sim/convergence/method.hpp"

namespace paceline::sim::convergence {
namespace {

struct Delay {
  int steps = 1;
  bool correction = false;
};

/// What the optimizer would move the weights by, without moving them.
std::vector<float> movement(const Optimizer& optimizer, double rate, const Objective& f,
                            OptimizerState& state, std::span<const float> gradient,
                            std::span<const float> weights) {
  std::vector<float> moved(weights.begin(), weights.end());
  step(optimizer, rate, f.blocks, state, gradient, moved);
  for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = weights[i] - moved[i];
  return moved;
}

Run run_delay(const Delay& delay, const Objective& f, const Optimizer& optimizer, const Training& t,
              const std::atomic<bool>& stop) {
  std::vector<float> weights = f.start, gradient(f.size());
  std::deque<std::vector<float>> versions;  // the oldest first
  std::vector<float> before(f.size(), 0.0F);
  OptimizerState state;
  Watch watch(f, t, t.steps, stop);
  for (std::int64_t k = 0; k < t.steps; ++k) {
    versions.push_back(weights);
    if (static_cast<int>(versions.size()) > delay.steps + 1) versions.pop_front();
    const std::vector<float>& read = versions.front();
    const auto number = static_cast<std::uint64_t>(k);
    const double loss = noisy_gradient(f, read, read, draw_batch(f, t.seed, number, t.batch),
                                       t.seed, number, gradient);
    clip_norm(gradient, t.clip);
    const double rate = rate_at(t.schedule, t.rate, k, t.steps);
    if (delay.correction) {
      std::vector<float> now = movement(optimizer, rate, f, state, gradient, weights);
      for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += before[i] - 2 * now[i];
      before = std::move(now);
    } else {
      step(optimizer, rate, f.blocks, state, gradient, weights);
    }
    if (f.retract) f.retract(weights);
    if (!watch.after(k + 1, loss, 0, weights)) break;
  }
  return watch.finish(t.steps, 0, weights);
}

}  // namespace

// `steps` updates lie between the weights a gradient is made of and those it is applied to
// (PipeDream-2BW: 1; Narayanan et al., arXiv:2006.09503). `correction`, for one step, is the error
// feedback for delay x_{t+1} = x_t - 2 u_{t-1} + u_{t-2} of "One-step gradient delay is not a
// barrier for large-scale asynchronous pipeline parallel LLM pretraining", u the optimizer's step.
Method read_delay(base::Fields& fields) {
  Delay delay;
  delay.steps = static_cast<int>(fields.integer("steps", 0, 10'000, 1));
  delay.correction = fields.flag("correction", false);
  if (delay.correction && delay.steps != 1)
    fields.fail("correction", "is for a delay of one step", "steps: 1");
  return [delay](const Objective& f, const Optimizer& o, const Training& t,
                 const std::atomic<bool>& stop) { return run_delay(delay, f, o, t, stop); };
}

}  // namespace paceline::sim::convergence
