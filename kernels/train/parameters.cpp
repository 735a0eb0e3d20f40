// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/parameters.hpp"

#include <cmath>

#include "base/distributions.hpp"
#include "base/rng.hpp"

namespace paceline::kernels::train {
namespace {

constexpr double kDeviation = 0.02;
constexpr std::int64_t kAligned = 64;  // floats

/// How a matrix is divided over a tensor-parallel group.
enum class Cut { None, Rows, Columns };

class Maker {
 public:
  Maker(const GptShape& shape, StageLayout& layout) : shape_(shape), layout_(layout) {}

  int matrix(const std::string& name, std::int64_t rows, std::int64_t columns, Cut cut,
             double deviation, std::int64_t pieces = 1) {
    Parameter p = held(name, rows, columns, cut, pieces);
    p.deviation = deviation;
    p.decays = true;
    return add(p);
  }
  /// `held_rows` elements of a vector, one of the group's equal parts where it is cut.
  int vector(const std::string& name, std::int64_t held_rows, bool cut, double value,
             std::int64_t pieces = 1) {
    const std::int64_t parts = cut ? shape_.tensor_ranks : 1;
    Parameter p = held(name, held_rows * parts, 1, cut ? Cut::Rows : Cut::None, pieces);
    p.mean = value;
    return add(p);
  }
  Norm norm(const std::string& name) {
    Norm norm;
    norm.weight = vector(name + ".weight", shape_.hidden, false, 1);
    if (shape_.norm_bias) norm.bias = vector(name + ".bias", shape_.hidden, false, 0);
    return norm;
  }
  /// By rows: this rank makes `outputs` of the outputs.
  Linear by_rows(const std::string& name, std::int64_t outputs, bool bias,
                 std::int64_t pieces = 1) {
    Linear l{-1, -1, shape_.hidden, outputs, false};
    l.weight = matrix(name + ".weight", outputs * shape_.tensor_ranks, shape_.hidden, Cut::Rows,
                      kDeviation, pieces);
    if (bias) l.bias = vector(name + ".bias", outputs, true, 0, pieces);
    return l;
  }
  /// By columns: this rank has `inputs` of the inputs.
  Linear by_columns(const std::string& name, std::int64_t inputs, bool bias) {
    Linear l{-1, -1, inputs, shape_.hidden, true};
    const double layers = static_cast<double>(shape_.layers.size());
    l.weight = matrix(name + ".weight", shape_.hidden, inputs * shape_.tensor_ranks, Cut::Columns,
                      kDeviation / std::sqrt(2 * layers));
    if (bias) l.bias = vector(name + ".bias", shape_.hidden, false, 0);
    return l;
  }
  /// Offsets: what decays first.
  void place() {
    for (const bool decays : {true, false}) {
      for (Parameter& p : layout_.parameters) {
        if (p.decays != decays) continue;
        p.offset = layout_.count;
        layout_.count += (p.count() + kAligned - 1) / kAligned * kAligned;
      }
      if (decays) layout_.decaying = layout_.count;
    }
  }

 private:
  Parameter held(const std::string& name, std::int64_t rows, std::int64_t columns, Cut cut,
                 std::int64_t pieces) const {
    Parameter p;
    p.name = name;
    p.rows = rows;
    p.columns = columns;
    p.pieces = pieces;
    p.held_rows = cut == Cut::Rows ? rows / shape_.tensor_ranks : rows;
    p.held_columns = cut == Cut::Columns ? columns / shape_.tensor_ranks : columns;
    p.first_row = cut == Cut::Rows ? p.held_rows / pieces * shape_.tensor_rank : 0;
    p.first_column = cut == Cut::Columns ? p.held_columns * shape_.tensor_rank : 0;
    return p;
  }
  int add(const Parameter& p) {
    layout_.parameters.push_back(p);
    return static_cast<int>(layout_.parameters.size()) - 1;
  }

  const GptShape& shape_;
  StageLayout& layout_;
};

LayerLayout layer_layout(Maker& make, const LayerShape& shape, const std::string& name) {
  LayerLayout l;
  const std::int64_t dim = shape.head_dim;
  const std::string attention = name + ".attention.", mlp = name + ".mlp.";
  l.shape = shape;
  l.before_attention = make.norm(attention + "norm");
  l.query = make.by_rows(attention + "query", shape.heads * dim, shape.qkv_bias);
  l.key = make.by_rows(attention + "key", shape.kv_heads * dim, shape.qkv_bias);
  l.value = make.by_rows(attention + "value", shape.kv_heads * dim, shape.qkv_bias);
  l.out = make.by_columns(attention + "out", shape.heads * dim, shape.out_bias);
  l.before_mlp = make.norm(mlp + "norm");
  l.up = shape.gated ? make.by_rows(mlp + "gate-up", 2 * shape.ffn, shape.mlp_bias, 2)
                     : make.by_rows(mlp + "up", shape.ffn, shape.mlp_bias);
  l.down = make.by_columns(mlp + "down", shape.ffn, shape.mlp_bias);
  return l;
}

double initial_value(const Parameter& p, std::uint64_t stream, std::int64_t place) {
  if (p.deviation == 0) return p.mean;
  base::Rng rng(base::Rng(stream + static_cast<std::uint64_t>(place)).next());
  return p.mean + p.deviation * base::standard_normal(rng);
}

/// Where the random numbers of a parameter begin: 64-bit FNV-1a of its name, mixed with the seed.
std::uint64_t stream_of(const std::string& name, std::uint64_t seed) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash ^ base::Rng(seed).next();
}

}  // namespace

StageLayout stage_layout(const GptShape& shape, const models::Stage& stage) {
  StageLayout layout;
  Maker make(shape, layout);
  layout.embedding = stage.embedding;
  layout.head = stage.head;
  const std::string tokens = "embedding.tokens";
  if (stage.embedding) {
    layout.tokens = make.matrix(tokens, shape.vocab, shape.hidden, Cut::None, kDeviation);
    if (shape.positions > 0)
      layout.positions =
          make.matrix("embedding.positions", shape.positions, shape.hidden, Cut::None, kDeviation);
    if (shape.embedding_norm) layout.embedding_norm = make.norm("embedding.norm");
  }
  for (int i = stage.first_layer; i < stage.first_layer + stage.layers; ++i)
    layout.layers.push_back(layer_layout(make, shape.layers[static_cast<std::size_t>(i)],
                                         "layers." + std::to_string(i)));
  if (stage.head) {
    if (shape.final_norm) layout.final_norm = make.norm("head.norm");
    const bool one = shape.tied && stage.embedding;
    layout.head_weight = one ? layout.tokens
                             : make.matrix(shape.tied ? tokens : "head.weight", shape.vocab,
                                           shape.hidden, Cut::None, kDeviation);
  }
  if (shape.tied && stage.embedding != stage.head)
    layout.tied = stage.head ? layout.head_weight : layout.tokens;
  make.place();
  return layout;
}

std::vector<float> initial_values(const StageLayout& layout, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(layout.count), 0.0F);
  for (const Parameter& p : layout.parameters) {
    const std::uint64_t stream = stream_of(p.name, seed);
    auto at = static_cast<std::size_t>(p.offset);
    for (std::int64_t row = 0; row < p.held_rows; ++row)
      for (std::int64_t column = 0; column < p.held_columns; ++column)
        values[at++] = static_cast<float>(initial_value(p, stream, p.place(row, column)));
  }
  return values;
}

}  // namespace paceline::kernels::train
