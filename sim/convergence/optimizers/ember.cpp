// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/numeric/optimizers.hpp"
#include "sim/convergence/optimizer.hpp"

namespace paceline::sim::convergence {
namespace {

/// Averages of one table: its rows, its columns, everything.
void ember_block(const numeric::Ember& rule, const Block& block, std::vector<double>& averages,
                 std::span<const float> gradient, std::span<float> weights) {
  const auto rows = static_cast<std::size_t>(block.rows),
             columns = static_cast<std::size_t>(block.columns);
  averages.resize(rows + columns + 1, 0.0);
  std::vector<double> means(rows + columns + 1, 0.0);
  for (std::size_t i = 0; i < block.size(); ++i) {
    const double g = static_cast<double>(gradient[block.first + i]);
    means[i / columns] += g * g / static_cast<double>(columns);
    means[rows + i % columns] += g * g / static_cast<double>(rows);
    means.back() += g * g / static_cast<double>(rows * columns);
  }
  for (std::size_t k = 0; k < means.size(); ++k) {
    averages[k] = static_cast<double>(numeric::ember_average(rule, static_cast<float>(averages[k]),
                                                             static_cast<float>(means[k])));
  }
  const auto all = static_cast<float>(averages.back());
  for (std::size_t i = 0; i < block.size(); ++i) {
    const float row = numeric::ember_row(rule, static_cast<float>(averages[i / columns]), all);
    numeric::ember_apply(rule, gradient[block.first + i], row,
                         static_cast<float>(averages[rows + i % columns]),
                         weights[block.first + i]);
  }
}

}  // namespace

void ember_step(const Optimizer& o, double rate, std::span<const Block> blocks,
                OptimizerState& state, std::span<const float> gradient, std::span<float> weights) {
  state.matrices.resize(blocks.size());
  const numeric::Ember rule{
      static_cast<float>(rate), static_cast<float>(o.beta2), static_cast<float>(o.epsilon),
      static_cast<float>(1 - std::pow(o.beta2, static_cast<double>(state.steps)))};
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const bool table = blocks[b].role == Role::Table || blocks[b].role == Role::Head;
    if (table) {
      ember_block(rule, blocks[b], state.matrices[b], gradient, weights);
    } else {
      adamw_block(o, rate, blocks[b], state, gradient, weights);
    }
  }
}

}  // namespace paceline::sim::convergence
