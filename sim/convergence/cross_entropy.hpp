// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cmath>
#include <span>

#include "sim/convergence/matrix.hpp"

namespace paceline::sim::convergence {

/// Mean of -log softmax(row)[label] over the rows; `logits` becomes its gradient.
inline double cross_entropy(Matrix& logits, std::span<const int> labels) {
  const double share = 1 / static_cast<double>(logits.rows());
  double loss = 0;
  for (Index i = 0; i < logits.rows(); ++i) {
    const std::span<double> row = logits.row(i);
    const double top = *std::max_element(row.begin(), row.end());
    const auto label = static_cast<std::size_t>(labels[static_cast<std::size_t>(i)]);
    const double right = row[label] - top;
    double sum = 0;
    for (double& x : row) sum += x = std::exp(x - top);
    loss += share * (std::log(sum) - right);
    for (double& x : row) x *= share / sum;
    row[label] -= share;
  }
  return loss;
}

}  // namespace paceline::sim::convergence
