// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "base/distributions.hpp"
#include "sim/convergence/cross_entropy.hpp"

namespace paceline::sim::convergence {
namespace {

struct Pairs {
  std::vector<int> last, next;
};

struct BigramOptions {
  int tokens = 0, width = 0;
  std::int64_t samples = 0;
  double exponent = 1;
  int rare = 0;  ///< the last so many tokens count as rare
};

/// Tokens of frequency (k + 1)^-exponent; the next is drawn from a softmax of a random low-rank
/// table plus those frequencies.
Pairs draw_pairs(const BigramOptions& o, std::uint64_t seed) {
  base::Rng rng(stream_seed(seed, Stream::Data));
  const Matrix a = normal_matrix(rng, o.tokens, 8), b = normal_matrix(rng, 8, o.tokens, 0.5);
  const Matrix rise = a * b;
  Vector prior(o.tokens);
  for (int k = 0; k < o.tokens; ++k) prior[k] = -o.exponent * std::log(k + 1.0);
  const auto cumulate = [](Vector logits) {
    exp_less(logits.numbers(), *std::max_element(logits.begin(), logits.end()));
    for (Index k = 1; k < logits.size(); ++k) logits[k] += logits[k - 1];
    const double whole = logits[logits.size() - 1];
    return logits / whole;
  };
  const auto draw = [&rng](const Vector& cumulated) {
    const double u = rng.uniform();
    const double* end = cumulated.data() + cumulated.size();
    const auto at = std::upper_bound(cumulated.data(), end, u) - cumulated.data();
    return static_cast<int>(std::min<std::ptrdiff_t>(at, cumulated.size() - 1));
  };
  const Vector first = cumulate(prior);
  std::vector<Vector> rows;
  for (int k = 0; k < o.tokens; ++k) rows.push_back(cumulate(Vector(rise.row(k)) + prior));
  Pairs pairs;
  for (std::int64_t i = 0; i < o.samples; ++i) {
    pairs.last.push_back(draw(first));
    pairs.next.push_back(draw(rows[static_cast<std::size_t>(pairs.last.back())]));
  }
  return pairs;
}

double pairs_loss(const Block& table, const Block& head, const Pairs& pairs, int from,
                  std::span<const float> w) {
  const Matrix rows = matrix_of(w, table), columns = matrix_of(w, head);
  std::vector<int> labels;
  std::vector<int> last;
  for (std::size_t i = 0; i < pairs.last.size(); ++i) {
    if (pairs.last[i] < from) continue;
    last.push_back(pairs.last[i]);
    labels.push_back(pairs.next[i]);
  }
  if (last.empty()) return 0;
  Matrix logits = rows_of(rows, last) * columns;
  return cross_entropy(logits, labels);
}

}  // namespace

// logits = E[last] H: an embedding and a head, both tables of tokens. `rare: N` shows the loss over
// samples that begin with one of the N rarest tokens alone.
ObjectiveMaker read_bigram(base::Fields& fields) {
  BigramOptions o;
  o.tokens = static_cast<int>(fields.integer("tokens", 2, 100'000, 256));
  o.width = static_cast<int>(fields.integer("width", 1, 1024, 16));
  o.samples = fields.integer("samples", 1, 10'000'000, 8192);
  o.exponent = fields.number("exponent", 0, 10, 1);
  o.rare = static_cast<int>(fields.integer("rare", 0, o.tokens, 0));
  return [o](std::uint64_t seed) {
    Objective f;
    const Block table = add_block(f, "embedding", o.tokens, o.width, Role::Table);
    const Block head = add_block(f, "head", o.width, o.tokens, Role::Head);
    base::Rng rng(stream_seed(seed, Stream::Start));
    for (float& w : f.start) w = static_cast<float>(0.1 * base::standard_normal(rng));
    const Pairs pairs = draw_pairs(o, seed);
    f.samples = pairs.last.size();
    f.gradient = [=](std::span<const float> w, std::span<const float> back, const Batch& batch,
                     std::span<float> gradient) {
      std::vector<int> last(batch.size()), labels(batch.size());
      for (std::size_t i = 0; i < batch.size(); ++i) {
        last[i] = pairs.last[batch[i]];
        labels[i] = pairs.next[batch[i]];
      }
      const Matrix x = rows_of(matrix_of(w, table), last);
      Matrix logits = x * matrix_of(w, head);
      const double loss = cross_entropy(logits, labels);
      store(x.transpose() * logits, head, gradient);
      const Matrix dx = logits * matrix_of(back, head).transpose();
      Matrix dtable(o.tokens, o.width);
      for (std::size_t i = 0; i < batch.size(); ++i)
        add(dx.row(static_cast<Index>(i)), dtable.row(last[i]));
      store(dtable, table, gradient);
      return loss;
    };
    f.loss = [=](std::span<const float> w) {
      return pairs_loss(table, head, pairs, o.rare > 0 ? o.tokens - o.rare : 0, w);
    };
    return f;
  };
}

}  // namespace paceline::sim::convergence
