// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "sim/convergence/matrix.hpp"
#include "sim/convergence/optimizer.hpp"

namespace paceline::sim::convergence {
namespace {

/// Of one matrix: the moving averages of G G^T and G^T G, and their eigenvectors.
enum SoapPart { kLeft, kRight, kLeftBasis, kRightBasis, kSoapParts };

Eigen::Map<Matrix> square(std::vector<double>& numbers, Eigen::Index side) {
  if (numbers.empty()) numbers.assign(static_cast<std::size_t>(side * side), 0.0);
  return {numbers.data(), side, side};
}

/// The eigenvectors at first; later one power iteration (arXiv:2409.11321, algorithm 4).
void refresh_basis(const Eigen::Map<Matrix>& average, Eigen::Map<Matrix> basis, bool first) {
  if (first) {
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(average);
    basis = solver.eigenvectors();
  } else {
    basis = orthonormal(average * basis);
  }
}

void soap_block(const Optimizer& o, double rate, const Block& block, OptimizerState& state,
                std::span<std::vector<double>> parts, std::span<const float> gradient,
                std::span<float> weights) {
  const Matrix g = matrix_of(gradient, block);
  Eigen::Map<Matrix> left = square(parts[kLeft], block.rows);
  Eigen::Map<Matrix> right = square(parts[kRight], block.columns);
  Eigen::Map<Matrix> left_basis = square(parts[kLeftBasis], block.rows);
  Eigen::Map<Matrix> right_basis = square(parts[kRightBasis], block.columns);
  const bool first = state.steps == 1;
  const double kept = first ? 0 : o.beta2;
  left = kept * left + (1 - kept) * (g * g.transpose());
  right = kept * right + (1 - kept) * (g.transpose() * g);
  if (first || state.steps % o.refresh == 0) {
    refresh_basis(left, left_basis, first);
    refresh_basis(right, right_basis, first);
  }
  const Matrix momentum = o.beta1 * matrix_of(state.slots[0], block) + (1 - o.beta1) * g;
  const Matrix turned = left_basis.transpose() * g * right_basis;
  const Matrix second =
      o.beta2 * matrix_of(state.slots[1], block) + (1 - o.beta2) * turned.cwiseProduct(turned);
  store(momentum, block, state.slots[0]);
  store(second, block, state.slots[1]);
  const auto steps = static_cast<double>(state.steps);
  const double c1 = 1 - std::pow(o.beta1, steps), c2 = 1 - std::pow(o.beta2, steps);
  const Matrix m = left_basis.transpose() * momentum * right_basis / c1;
  const Matrix scaled = m.array() / ((second / c2).array().sqrt() + o.epsilon);
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
