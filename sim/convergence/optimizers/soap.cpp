// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "sim/convergence/matrix.hpp"
#include "sim/convergence/optimizer.hpp"

namespace paceline::sim::convergence {
namespace {

/// Of one matrix: the moving averages of G G^T and G^T G, and their eigenvectors.
enum SoapPart { kLeft, kRight, kLeftBasis, kRightBasis, kSoapParts };

Matrix square(const std::vector<double>& numbers, Index side) {
  Matrix m(side, side);
  if (!numbers.empty()) copy(numbers, m.numbers());
  return m;
}
void keep(const Matrix& m, std::vector<double>& numbers) {
  numbers.assign(m.numbers().begin(), m.numbers().end());
}

/// The eigenvectors at first; later one power iteration (arXiv:2409.11321, algorithm 4).
Matrix refreshed(const Matrix& average, const Matrix& basis, bool first) {
  return first ? eigen_pairs(average).vectors : orthonormal(average * basis);
}

void soap_block(const Optimizer& o, double rate, const Block& block, OptimizerState& state,
                std::span<std::vector<double>> parts, std::span<const float> gradient,
                std::span<float> weights) {
  const Matrix g = matrix_of(gradient, block);
  Matrix left = square(parts[kLeft], block.rows), right = square(parts[kRight], block.columns);
  Matrix left_basis = square(parts[kLeftBasis], block.rows);
  Matrix right_basis = square(parts[kRightBasis], block.columns);
  const bool first = state.steps == 1;
  const double kept = first ? 0 : o.beta2;
  left = kept * left + (1 - kept) * (g * g.transpose());
  right = kept * right + (1 - kept) * (g.transpose() * g);
  if (first || state.steps % o.refresh == 0) {
    left_basis = refreshed(left, left_basis, first);
    right_basis = refreshed(right, right_basis, first);
    keep(left_basis, parts[kLeftBasis]);
    keep(right_basis, parts[kRightBasis]);
  }
  keep(left, parts[kLeft]);
  keep(right, parts[kRight]);
  const Matrix momentum = o.beta1 * matrix_of(state.slots[0], block) + (1 - o.beta1) * g;
  const Matrix turned = left_basis.transpose() * g * right_basis;
  const Matrix second =
      o.beta2 * matrix_of(state.slots[1], block) + (1 - o.beta2) * times(turned, turned);
  store(momentum, block, state.slots[0]);
  store(second, block, state.slots[1]);
  const auto steps = static_cast<double>(state.steps);
  const double c1 = 1 - std::pow(o.beta1, steps), c2 = 1 - std::pow(o.beta2, steps);
  const Matrix m = left_basis.transpose() * momentum * right_basis / c1;
  Matrix scaled = m;
  scaled.each(second, [&](double& x, double v) { x /= std::sqrt(v / c2) + o.epsilon; });
  const Matrix w = matrix_of(weights, block);
  store(w - rate * (left_basis * scaled * right_basis.transpose() + o.decay * w), block, weights);
}

}  // namespace

// SOAP (Vyas et al., arXiv:2409.11321, algorithm 3), the basis from the first gradient on.
void soap_step(const Optimizer& o, double rate, std::span<const Block> blocks,
               OptimizerState& state, std::span<const float> gradient, std::span<float> weights) {
  need_slots(state, 2, weights.size());
  state.matrices.resize(kSoapParts * blocks.size());
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (takes_matrix(o, blocks[b])) {
      soap_block(o, rate, blocks[b], state,
                 std::span(state.matrices).subspan(kSoapParts * b, kSoapParts), gradient, weights);
    } else {
      adamw_block(o, rate, blocks[b], state, gradient, weights);
    }
  }
}

}  // namespace paceline::sim::convergence
