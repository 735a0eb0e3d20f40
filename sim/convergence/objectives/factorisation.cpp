// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/distributions.hpp"
#include "sim/convergence/matrix.hpp"

namespace paceline::sim::convergence {

// f(U, V) = mean over entries (i, j) of (u_i v_j - m_ij)^2 / 2, M = A B^T / sqrt(rank) of normal A
// and B; a sample is an entry. From small normal factors.
ObjectiveMaker read_factorisation(base::Fields& fields) {
  const int rows = static_cast<int>(fields.integer("rows", 1, 10'000, 64));
  const int columns = static_cast<int>(fields.integer("columns", 1, 10'000, 48));
  const int rank = static_cast<int>(fields.integer("rank", 1, 1000, 4));
  const double noise = fields.number("noise", 0, 1e6, 0);
  return [=](std::uint64_t seed) {
    Objective f;
    const Block left = add_block(f, "u", rows, rank, Role::Matrix);
    const Block right = add_block(f, "v", columns, rank, Role::Matrix);
    base::Rng start(stream_seed(seed, Stream::Start));
    for (float& w : f.start) w = static_cast<float>(0.1 * base::standard_normal(start));
    base::Rng rng(stream_seed(seed, Stream::Data));
    const Matrix a = normal_matrix(rng, rows, rank), b = normal_matrix(rng, columns, rank);
    const Matrix m = a * b.transpose() / std::sqrt(static_cast<double>(rank));
    f.samples = static_cast<std::size_t>(m.size());
    f.noise = noise;
    f.gradient = [=](std::span<const float> w, std::span<const float>, const Batch& batch,
                     std::span<float> gradient) {
      const Matrix u = matrix_of(w, left), v = matrix_of(w, right);
      Matrix du(rows, rank), dv(columns, rank);
      const double share = 1 / static_cast<double>(batch.size());
      double loss = 0;
      for (const std::uint32_t sample : batch) {
        const Index i = sample / static_cast<std::uint32_t>(columns),
                    j = sample % static_cast<std::uint32_t>(columns);
        const double away = dot(u.row(i), v.row(j)) - m(i, j);
        loss += share * away * away / 2;
        add(v.row(j), du.row(i), share * away);
        add(u.row(i), dv.row(j), share * away);
      }
      store(du, left, gradient);
      store(dv, right, gradient);
      return loss;
    };
    f.loss = [=](std::span<const float> w) {
      const Matrix away = matrix_of(w, left) * matrix_of(w, right).transpose() - m;
      return squared_norm(away.numbers()) / 2 / static_cast<double>(m.size());
    };
    return f;
  };
}

}  // namespace paceline::sim::convergence
