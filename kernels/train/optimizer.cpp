// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/optimizer.hpp"

#include <cstring>

#include "base/error.hpp"
#include "base/numeric/optimizers.hpp"

namespace paceline::kernels::train {
namespace {

template <class Rule>
Block settings_of(Device& device, const Rule& rule) {
  std::vector<float> values(sizeof(Rule) / sizeof(float));
  std::memcpy(values.data(), &rule, sizeof rule);
  Block settings = device.take(std::ssize(values));
  device.to_device(settings.floats(), values);
  return settings;
}

/// Parameters `first` … first + count - 1.
void step_range(Device& device, const Optimizer& o, const Block& weights, const Block& gradients,
                const std::vector<Block>& states, int step, std::int64_t first, std::int64_t count,
                double decay) {
  if (count == 0) return;
  const Shape shape{{"parameters", count}};
  const auto part = [&](const Block& block) { return block.floats(first, count); };
  if (o.rule == Optimizer::Rule::AdamW) {
    const Block settings =
        settings_of(device, numeric::adamw(o.rate, o.beta1, o.beta2, o.epsilon, decay, step));
    device.run("adamw", "step", shape,
               {{"g", part(gradients)},
                {"w", part(weights)},
                {"m", part(states[0])},
                {"v", part(states[1])},
                {"settings", settings.floats()}});
    return;
  }
  const numeric::Sgd sgd{static_cast<float>(o.rate), static_cast<float>(o.momentum),
                         static_cast<float>(decay), 0};
  const Block settings = settings_of(device, sgd);
  device.run("sgd", "step", shape,
             {{"g", part(gradients)},
              {"w", part(weights)},
              {"m", part(states[0])},
              {"settings", settings.floats()}});
}

}  // namespace

std::vector<Block> optimizer_states(Device& device, const Optimizer& optimizer,
                                    const StageLayout& layout) {
  std::vector<Block> states;
  const int count = optimizer.rule == Optimizer::Rule::AdamW ? 2 : 1;
  for (int i = 0; i < count; ++i) states.push_back(device.zeros(layout.count));
  return states;
}

void optimizer_step(Device& device, const Optimizer& optimizer, const StageLayout& layout,
                    const Block& weights, const Block& gradients, const std::vector<Block>& states,
                    int step) {
  step_range(device, optimizer, weights, gradients, states, step, 0, layout.decaying,
             optimizer.decay);
  step_range(device, optimizer, weights, gradients, states, step, layout.decaying,
             layout.count - layout.decaying, 0);
}

}  // namespace paceline::kernels::train
