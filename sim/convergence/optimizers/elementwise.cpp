// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/numeric/optimizers.hpp"
#include "sim/convergence/optimizer.hpp"

namespace paceline::sim::convergence {
namespace {

void descend(const Optimizer& o, double rate, bool look_ahead, OptimizerState& state,
             std::span<const float> gradient, std::span<float> weights) {
  need_slots(state, 1, weights.size());
  const numeric::Sgd rule{static_cast<float>(rate), static_cast<float>(o.momentum),
                          static_cast<float>(o.decay), look_ahead ? 1.0F : 0.0F};
  for (std::size_t i = 0; i < weights.size(); ++i)
    update(rule, gradient[i], weights[i], &state.slots[0][i]);
}

}  // namespace

void sgd_step(const Optimizer& o, double rate, std::span<const Block>, OptimizerState& state,
              std::span<const float> gradient, std::span<float> weights) {
  descend(o, rate, false, state, gradient, weights);
}
void nesterov_step(const Optimizer& o, double rate, std::span<const Block>, OptimizerState& state,
                   std::span<const float> gradient, std::span<float> weights) {
  descend(o, rate, true, state, gradient, weights);
}

void adamw_block(const Optimizer& o, double rate, const Block& block, OptimizerState& state,
                 std::span<const float> gradient, std::span<float> weights) {
  need_slots(state, 2, weights.size());
  const numeric::AdamW rule =
      numeric::adamw(rate, o.beta1, o.beta2, o.epsilon, o.decay, static_cast<double>(state.steps));
  for (std::size_t i = block.first; i < block.first + block.size(); ++i) {
    float moments[2] = {state.slots[0][i], state.slots[1][i]};
    update(rule, gradient[i], weights[i], moments);
    state.slots[0][i] = moments[0];
    state.slots[1][i] = moments[1];
  }
}
void adamw_step(const Optimizer& o, double rate, std::span<const Block> blocks,
                OptimizerState& state, std::span<const float> gradient, std::span<float> weights) {
  for (const Block& block : blocks) adamw_block(o, rate, block, state, gradient, weights);
}

// AdamS (Zhang et al., AdamS: Momentum itself can be a normalizer, arXiv:2505.16363, algorithm 1):
//   v = b2 m_before^2 + (1 - b2) g^2,  m = b1 m + (1 - b1) g,  w = w - rate (m / sqrt(v) + decay w)
void adams_step(const Optimizer& o, double rate, std::span<const Block>, OptimizerState& state,
                std::span<const float> gradient, std::span<float> weights) {
  need_slots(state, 1, weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double g = static_cast<double>(gradient[i]), m = static_cast<double>(state.slots[0][i]);
    const double first = o.beta1 * m + (1 - o.beta1) * g;
    const double second = o.beta2 * m * m + (1 - o.beta2) * g * g;
    const double direction = first / (std::sqrt(second) + o.epsilon);
    state.slots[0][i] = static_cast<float>(first);
    weights[i] -=
        static_cast<float>(rate * (direction + o.decay * static_cast<double>(weights[i])));
  }
}

// Adan (Xie et al., arXiv:2208.06677, algorithm 1), with betas as shares that stay: m of gradients,
// v of their differences, n of (g + b2 difference)^2; the first step sets m and n to its own.
void adan_step(const Optimizer& o, double rate, std::span<const Block>, OptimizerState& state,
               std::span<const float> gradient, std::span<float> weights) {
  need_slots(state, 4, weights.size());
  const bool first = state.steps == 1;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto slot = [&](std::size_t s) { return static_cast<double>(state.slots[s][i]); };
    const double g = static_cast<double>(gradient[i]);
    const double change = first ? 0 : g - slot(3), ahead = g + o.beta2 * change;
    const double m = first ? g : o.beta1 * slot(0) + (1 - o.beta1) * g;
    const double v = o.beta2 * slot(1) + (1 - o.beta2) * change;
    const double n = first ? g * g : o.beta3 * slot(2) + (1 - o.beta3) * ahead * ahead;
    const double kept = 1 / (1 + rate * o.decay);
    const double moved = rate * (m + o.beta2 * v) / (std::sqrt(n) + o.epsilon);
    weights[i] = static_cast<float>(kept * (static_cast<double>(weights[i]) - moved));
    state.slots[0][i] = static_cast<float>(m);
    state.slots[1][i] = static_cast<float>(v);
    state.slots[2][i] = static_cast<float>(n);
    state.slots[3][i] = gradient[i];
  }
}

// Lion (Chen et al., Symbolic discovery of optimization algorithms, arXiv:2302.06675, program 1).
void lion_step(const Optimizer& o, double rate, std::span<const Block>, OptimizerState& state,
               std::span<const float> gradient, std::span<float> weights) {
  need_slots(state, 1, weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double g = static_cast<double>(gradient[i]), m = static_cast<double>(state.slots[0][i]);
    const double mixed = o.beta1 * m + (1 - o.beta1) * g;
    const double sign = mixed > 0 ? 1 : (mixed < 0 ? -1 : 0);
    state.slots[0][i] = static_cast<float>(o.beta2 * m + (1 - o.beta2) * g);
    weights[i] -= static_cast<float>(rate * (sign + o.decay * static_cast<double>(weights[i])));
  }
}

}  // namespace paceline::sim::convergence
