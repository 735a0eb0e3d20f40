// SPDX-License-Identifier: Apache-2.0
#include "sim/convergence/optimizer.hpp"

#include <array>

#include "base/error.hpp"
#include "base/table.hpp"

namespace paceline::sim::convergence {

std::span<const OptimizerKind> optimizer_kinds() {
  static const std::array kKinds{
#define PACELINE_OPTIMIZER(function, name, defaults, summary) \
  OptimizerKind{name, summary, defaults, &function},
#include "sim/convergence/optimizers/list.def"
#undef PACELINE_OPTIMIZER
  };
  return kKinds;
}

Optimizer default_optimizer(std::string_view name) {
  const OptimizerKind& kind = base::find(optimizer_kinds(), name, "", "optimizer");
  Optimizer o = kind.defaults;
  o.kind = &kind;
  return o;
}

Optimizer read_optimizer(base::Fields& fields) {
  const std::string name = fields.text("kind");
  const OptimizerKind& kind =
      base::find(optimizer_kinds(), name, fields.where("kind"), "optimizer");
  Optimizer o = kind.defaults;
  o.kind = &kind;
  constexpr double kBelowOne = 1 - 1e-9;
  o.beta1 = fields.number("beta1", 0, kBelowOne, o.beta1);
  o.beta2 = fields.number("beta2", 0, kBelowOne, o.beta2);
  o.beta3 = fields.number("beta3", 0, kBelowOne, o.beta3);
  o.momentum = fields.number("momentum", 0, kBelowOne, o.momentum);
  o.epsilon = fields.number("epsilon", 0, 1, o.epsilon);
  o.decay = fields.number("decay", 0, 1e3, o.decay);
  o.refresh = static_cast<int>(fields.integer("refresh", 1, 1'000'000, o.refresh));
  o.head = fields.flag("head", false);
  return o;
}

void step(const Optimizer& optimizer, double rate, std::span<const Block> blocks,
          OptimizerState& state, std::span<const float> gradient, std::span<float> weights) {
  PACELINE_CHECK(gradient.size() == weights.size());
  ++state.steps;
  optimizer.kind->step(optimizer, rate, blocks, state, gradient, weights);
}

void need_slots(OptimizerState& state, std::size_t count, std::size_t size) {
  while (state.slots.size() < count) state.slots.emplace_back(size, 0.0F);
}

}  // namespace paceline::sim::convergence
