// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "base/bundled_text.hpp"
#include "sim/convergence/cross_entropy.hpp"

namespace paceline::sim::convergence {
namespace {

enum class Basis { None, Random, Pca, Learned };
constexpr std::array<base::Named<Basis>, 3> kBases{
    {{"random", Basis::Random}, {"pca", Basis::Pca}, {"learned", Basis::Learned}}};

struct LmOptions {
  int layers = 1, width = 32, heads = 2, sequence = 32;
  Basis basis = Basis::None;  ///< of the projection behind the first layer
  int rank = 0;
  bool anchor = false;
};

/// Blocks of one layer.
struct LmLayer {
  Block qkv, out, up, down;
};
struct LmBlocks {
  Block embedding, position, head;
  std::vector<LmLayer> layers;
  Block basis;  ///< where it is learned
};

/// Everything the model is made of besides its weights.
struct Lm {
  LmOptions o;
  LmBlocks blocks;
  std::vector<int> text;  ///< tokens: bytes that occur, numbered in ascending order
  int tokens = 0;
  Matrix fixed_basis;  ///< width x rank
  Matrix anchor;       ///< tokens x width: a copy of the first embedding, or empty
};

/// x / sqrt(mean x^2 + 1e-5) by row (Zhang, Sennrich, Root mean square layer normalization,
/// arXiv:1910.07467), without gains.
struct Normed {
  Matrix y;
  Vector inverse;
};
Normed rms_norm(const Matrix& x) {
  Normed n;
  n.inverse = row_dots(x, x) / static_cast<double>(x.columns());
  n.inverse.each([](double& v) { v = 1 / std::sqrt(v + 1e-5); });
  n.y = scale_rows(n.inverse, x);
  return n;
}
Matrix rms_norm_back(const Normed& n, const Matrix& dy) {
  const Vector along = row_dots(dy, n.y) / static_cast<double>(n.y.columns());
  return scale_rows(n.inverse, dy - scale_rows(along, n.y));
}

/// What the way back needs of one layer, all rows = tokens of all sequences.
struct LmTrace {
  Normed before, between;
  Matrix qkv, mixed, hidden;
  std::vector<Matrix> shares;  ///< attention weights by sequence and head
};

/// Causal attention of every head of every sequence, rows in sequence order.
void attend(const LmOptions& o, LmTrace& t) {
  const Index length = o.sequence, size = o.width / o.heads;
  t.mixed = Matrix(t.qkv.rows(), o.width);
  t.shares.clear();
  const double scale = 1 / std::sqrt(static_cast<double>(size));
  for (Index s = 0; s < t.qkv.rows(); s += length) {
    for (int h = 0; h < o.heads; ++h) {
      const View q = t.qkv.block(s, h * size, length, size);
      const View k = t.qkv.block(s, o.width + h * size, length, size);
      const View v = t.qkv.block(s, 2 * o.width + h * size, length, size);
      Matrix scores = scale * (q * k.transpose());
      for (Index i = 0; i < length; ++i) {
        const std::span<double> row = scores.row(i).first(static_cast<std::size_t>(i) + 1);
        exp_less(row, *std::max_element(row.begin(), row.end()));
        const double whole = sum(row);
        for (double& x : row) x /= whole;
        for (Index j = i + 1; j < length; ++j) scores(i, j) = 0;
      }
      t.mixed.set_block(s, h * size, scores * v);
      t.shares.push_back(std::move(scores));
    }
  }
}

Matrix attend_back(const LmOptions& o, const LmTrace& t, const Matrix& dmixed) {
  const Index length = o.sequence, size = o.width / o.heads;
  Matrix dqkv(t.qkv.rows(), t.qkv.columns());
  const double scale = 1 / std::sqrt(static_cast<double>(size));
  std::size_t at = 0;
  for (Index s = 0; s < t.qkv.rows(); s += length) {
    for (int h = 0; h < o.heads; ++h, ++at) {
      const View q = t.qkv.block(s, h * size, length, size);
      const View k = t.qkv.block(s, o.width + h * size, length, size);
      const View v = t.qkv.block(s, 2 * o.width + h * size, length, size);
      const View d = dmixed.block(s, h * size, length, size);
      const Matrix& p = t.shares[at];
      Matrix dp = d * v.transpose();
      const Vector along = row_dots(dp, p);
      for (Index i = 0; i < length; ++i)
        for (Index j = 0; j < length; ++j) dp(i, j) = scale * (p(i, j) * (dp(i, j) - along[i]));
      dqkv.set_block(s, h * size, dp * k);
      dqkv.set_block(s, o.width + h * size, dp.transpose() * q);
      dqkv.set_block(s, 2 * o.width + h * size, p.transpose() * d);
    }
  }
  return dqkv;
}

void layer_forward(const LmOptions& o, const LmLayer& layer, std::span<const float> w, Matrix& x,
                   LmTrace& t) {
  t.before = rms_norm(x);
  t.qkv = t.before.y * matrix_of(w, layer.qkv);
  attend(o, t);
  x += t.mixed * matrix_of(w, layer.out);
  t.between = rms_norm(x);
  t.hidden = t.between.y * matrix_of(w, layer.up);
  relu(t.hidden);
  x += t.hidden * matrix_of(w, layer.down);
}

/// `dx` of the layer's output becomes that of its input.
void layer_back(const LmOptions& o, const LmLayer& layer, std::span<const float> back,
                const LmTrace& t, Matrix& dx, std::span<float> gradient) {
  store(t.hidden.transpose() * dx, layer.down, gradient);
  Matrix dhidden = dx * matrix_of(back, layer.down).transpose();
  relu_back(t.hidden, dhidden);
  store(t.between.y.transpose() * dhidden, layer.up, gradient);
  dx += rms_norm_back(t.between, dhidden * matrix_of(back, layer.up).transpose());
  store(t.mixed.transpose() * dx, layer.out, gradient);
  const Matrix dqkv = attend_back(o, t, dx * matrix_of(back, layer.out).transpose());
  store(t.before.y.transpose() * dqkv, layer.qkv, gradient);
  dx += rms_norm_back(t.before, dqkv * matrix_of(back, layer.qkv).transpose());
}

struct Sequences {
  std::vector<int> last, next;  ///< by row: sequence, then place
};
Sequences sequences_of(const Lm& m, const Batch& batch) {
  Sequences s;
  for (const std::uint32_t first : batch) {
    for (int i = 0; i < m.o.sequence; ++i) {
      s.last.push_back(m.text[first + static_cast<std::size_t>(i)]);
      s.next.push_back(m.text[first + static_cast<std::size_t>(i) + 1]);
    }
  }
  return s;
}

Matrix embed(const Lm& m, std::span<const float> w, const std::vector<int>& tokens) {
  Matrix x = rows_of(matrix_of(w, m.blocks.embedding), tokens);
  const Matrix position = matrix_of(w, m.blocks.position);
  for (Index i = 0; i < x.rows(); ++i) add(position.row(i % m.o.sequence), x.row(i));
  return x;
}

Matrix basis_of(const Lm& m, std::span<const float> w) {
  return m.o.basis == Basis::Learned ? matrix_of(w, m.blocks.basis) : m.fixed_basis;
}

double lm_gradient(const Lm& m, std::span<const float> w, std::span<const float> back,
                   const Batch& batch, std::span<float> gradient) {
  const Sequences s = sequences_of(m, batch);
  Matrix x = embed(m, w, s.last), sent, fixed;
  const bool cut = m.o.basis != Basis::None;
  const Matrix basis = cut ? basis_of(m, w) : Matrix();
  if (cut && m.o.anchor) fixed = rows_of(m.anchor, s.last);
  std::vector<LmTrace> traces(m.blocks.layers.size());
  for (std::size_t l = 0; l < traces.size(); ++l) {
    layer_forward(m.o, m.blocks.layers[l], w, x, traces[l]);
    if (l != 0 || !cut) continue;
    sent = m.o.anchor ? Matrix(x - fixed) : x;
    x = (sent * basis) * basis.transpose();
    if (m.o.anchor) x += fixed;
  }
  const Normed last = rms_norm(x);
  Matrix logits = last.y * matrix_of(w, m.blocks.head);
  const double loss = cross_entropy(logits, s.next);
  if (gradient.empty()) return loss;
  store(last.y.transpose() * logits, m.blocks.head, gradient);
  Matrix dx = rms_norm_back(last, logits * matrix_of(back, m.blocks.head).transpose());
  for (std::size_t l = traces.size(); l-- > 0;) {
    if (l == 0 && cut) {
      if (m.o.basis == Basis::Learned) {
        const Matrix slope = sent.transpose() * (dx * basis) + dx.transpose() * (sent * basis);
        // Along the manifold: what changes basis^T basis is left out.
        const Matrix inner = basis.transpose() * slope;
        store(slope - basis * ((inner + copy(inner.transpose())) / 2), m.blocks.basis, gradient);
      }
      dx = (dx * basis) * basis.transpose();
    }
    layer_back(m.o, m.blocks.layers[l], back, traces[l], dx, gradient);
  }
  Matrix dtable(m.tokens, m.o.width), dposition(m.o.sequence, m.o.width);
  for (Index i = 0; i < dx.rows(); ++i) {
    add(dx.row(i), dtable.row(s.last[static_cast<std::size_t>(i)]));
    add(dx.row(i), dposition.row(i % m.o.sequence));
  }
  store(dtable, m.blocks.embedding, gradient);
  store(dposition, m.blocks.position, gradient);
  return loss;
}

/// The text as tokens; `tokens` becomes their number.
std::vector<int> tokens_of(std::string_view text, int& tokens) {
  std::array<int, 256> number{};
  number.fill(-1);
  for (const char c : text) number[static_cast<unsigned char>(c)] = 0;
  tokens = 0;
  for (int& n : number)
    if (n == 0) n = tokens++;
  std::vector<int> result;
  for (const char c : text) result.push_back(number[static_cast<unsigned char>(c)]);
  return result;
}

void add_lm_blocks(const LmOptions& o, int tokens, Objective& f, LmBlocks& b) {
  b.embedding = add_block(f, "embedding", tokens, o.width, Role::Table);
  b.position = add_block(f, "position", o.sequence, o.width, Role::Table);
  for (int l = 0; l < o.layers; ++l) {
    const std::string name = "layer " + std::to_string(l) + " ";
    b.layers.push_back({add_block(f, name + "qkv", o.width, 3 * o.width, Role::Matrix),
                        add_block(f, name + "out", o.width, o.width, Role::Matrix),
                        add_block(f, name + "up", o.width, 4 * o.width, Role::Matrix),
                        add_block(f, name + "down", 4 * o.width, o.width, Role::Matrix)});
  }
  b.head = add_block(f, "head", o.width, tokens, Role::Head);
  if (o.basis == Basis::Learned) b.basis = add_block(f, "basis", o.width, o.rank, Role::Vector);
}

/// Activations behind the first layer of 64 sequences, less the anchor.
Matrix first_activations(const Lm& m, std::span<const float> w, std::uint64_t seed) {
  Batch batch(64);
  base::Rng rng(stream_seed(seed, Stream::Probe));
  for (std::uint32_t& first : batch)
    first = static_cast<std::uint32_t>(
        rng.below(m.text.size() - static_cast<std::size_t>(m.o.sequence)));
  const Sequences s = sequences_of(m, batch);
  Matrix x = embed(m, w, s.last);
  LmTrace trace;
  layer_forward(m.o, m.blocks.layers[0], w, x, trace);
  return m.o.anchor ? Matrix(x - rows_of(m.anchor, s.last)) : x;
}

Matrix principal_basis(const Matrix& x, int rank) {
  const Matrix all = eigen_pairs(x.transpose() * x).vectors;
  return copy(all.block(0, all.columns() - rank, all.rows(), rank));
}

void start_lm(Lm& m, Objective& f, std::uint64_t seed) {
  base::Rng rng(stream_seed(seed, Stream::Start));
  for (const Block& block : f.blocks) {
    const bool table = block.role == Role::Table;
    store(normal_matrix(rng, block.rows, block.columns,
                        table ? 0.5 : 1 / std::sqrt(static_cast<double>(block.rows))),
          block, f.start);
  }
  if (m.o.basis == Basis::None) return;
  if (m.o.anchor) m.anchor = matrix_of(f.start, m.blocks.embedding);
  m.fixed_basis = m.o.basis == Basis::Pca
                      ? principal_basis(first_activations(m, f.start, seed), m.o.rank)
                      : orthonormal(normal_matrix(rng, m.o.width, m.o.rank));
  if (m.o.basis == Basis::Learned) store(m.fixed_basis, m.blocks.basis, f.start);
}

Objective make_lm(const LmOptions& o, std::uint64_t seed) {
  Objective f;
  Lm m;
  m.o = o;
  m.text = tokens_of(base::bundled_text(), m.tokens);
  add_lm_blocks(o, m.tokens, f, m.blocks);
  start_lm(m, f, seed);
  f.samples = m.text.size() - static_cast<std::size_t>(o.sequence);
  if (o.basis == Basis::Learned) {
    f.retract = [block = m.blocks.basis](std::span<float> w) {
      store(polar(matrix_of(w, block)), block, w);
    };
  }
  // Every sequence of the text, end to end.
  Batch all;
  for (std::size_t first = 0; first < f.samples; first += static_cast<std::size_t>(o.sequence))
    all.push_back(static_cast<std::uint32_t>(first));
  f.loss = [m, all](std::span<const float> w) { return lm_gradient(m, w, w, all, {}); };
  f.gradient = [m = std::move(m)](std::span<const float> w, std::span<const float> back,
                                  const Batch& batch, std::span<float> gradient) {
    return lm_gradient(m, w, back, batch, gradient);
  };
  return f;
}

}  // namespace

// Pre-norm layers of causal attention and a ReLU MLP of four times the width, learned positions,
// untied head. `boundary` projects what the first layer hands on onto `rank` directions, as a
// pipeline that sends fewer numbers does (MAPL: a basis with orthonormal columns per boundary, and
// an anchor: a fixed copy of the token embedding is subtracted before and added behind).
ObjectiveMaker read_transformer(base::Fields& fields) {
  LmOptions o;
  o.layers = static_cast<int>(fields.integer("layers", 1, 64, 1));
  o.width = static_cast<int>(fields.integer("width", 1, 1024, 32));
  o.heads = static_cast<int>(fields.integer("heads", 1, 64, 2));
  o.sequence = static_cast<int>(fields.integer("sequence", 1, 1024, 32));
  if (o.width % o.heads != 0)
    fields.fail("heads", "does not divide the width " + std::to_string(o.width));
  if (fields.has("boundary")) {
    base::Fields boundary = fields.map("boundary");
    o.basis = boundary.choice<Basis>("basis", kBases, Basis::Random);
    o.rank = static_cast<int>(boundary.integer("rank", 1, o.width));
    o.anchor = boundary.flag("anchor", false);
    boundary.done();
  }
  return [o](std::uint64_t seed) { return make_lm(o, seed); };
}

}  // namespace paceline::sim::convergence
