// SPDX-License-Identifier: Apache-2.0
#include "base/numeric/optimizers.hpp"
#include "sim/convergence/matrix.hpp"
#include "sim/convergence/optimizer.hpp"

namespace paceline::sim::convergence {

void muon_step(const Optimizer& o, double rate, std::span<const Block> blocks,
               OptimizerState& state, std::span<const float> gradient, std::span<float> weights) {
  need_slots(state, 2, weights.size());
  std::vector<float> direction;
  for (const Block& block : blocks) {
    if (!takes_matrix(o, block)) {
      adamw_block(o, rate, block, state, gradient, weights);
      continue;
    }
    const numeric::Muon rule{static_cast<float>(rate), static_cast<float>(o.momentum),
                             static_cast<float>(o.decay),
                             static_cast<float>(numeric::muon_scale(block.rows, block.columns))};
    direction.resize(block.size());
    for (std::size_t i = 0; i < direction.size(); ++i)
      direction[i] =
          numeric::muon_direction(rule, gradient[block.first + i], state.slots[0][block.first + i]);
    orthogonalise(direction, block.rows, block.columns);
    for (std::size_t i = 0; i < direction.size(); ++i)
      numeric::muon_apply(rule, direction[i], weights[block.first + i]);
  }
}

}  // namespace paceline::sim::convergence
