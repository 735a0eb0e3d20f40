// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_cudnn/graphs.hpp"

#include <limits>

#include "base/error.hpp"

namespace paceline::kernels {
namespace {

using cudnn::Data;
using cudnn::GraphBuilder;
using cudnn::Pointwise;
using cudnn::Reduce;
using cudnn::Sizes;

constexpr int kRow = 2, kColumn = 3;

Data stored_as(const Case& c) { return c.type == DType::Bf16 ? Data::Bfloat16 : Data::Half; }

/// [batch, rows, heads, head_dim] in memory, as [batch, heads, rows, head_dim].
int by_heads(GraphBuilder& g, Data type, const Attention& a, int rows, int heads) {
  const std::int64_t row = std::int64_t{heads} * a.head_dim;
  return g.memory(type, {a.batch, heads, rows, a.head_dim}, {rows * row, a.head_dim, row, 1});
}
/// The same as [batch, heads, head_dim, rows].
int by_heads_transposed(GraphBuilder& g, Data type, const Attention& a, int rows, int heads) {
  const std::int64_t row = std::int64_t{heads} * a.head_dim;
  return g.memory(type, {a.batch, heads, a.head_dim, rows}, {rows * row, a.head_dim, 1, row});
}
int queries_in(GraphBuilder& g, Data type, const Attention& a) {
  return by_heads(g, type, a, a.queries, a.heads);
}
int keys_in(GraphBuilder& g, Data type, const Attention& a) {
  return by_heads(g, type, a, a.keys, a.kv_heads);
}
int keys_transposed(GraphBuilder& g, Data type, const Attention& a) {
  return by_heads_transposed(g, type, a, a.keys, a.kv_heads);
}

Sizes scores_of(const Attention& a) { return {a.batch, a.heads, a.queries, a.keys}; }
Sizes rows_of(const Attention& a) { return {a.batch, a.heads, a.queries, 1}; }
Sizes all_heads(const Attention& a, int rows) { return {a.batch, a.heads, rows, a.head_dim}; }
int rows_in(GraphBuilder& g, const Attention& a) {
  return g.memory(Data::Float, rows_of(a), cudnn::packed_strides(rows_of(a)));
}

/// Keys that a query does not see count as the lowest number: query i sees keys up to i + shift.
int masked(GraphBuilder& g, const Attention& a, int scores) {
  if (!a.causal) return scores;
  int row = g.index(scores, kRow);
  if (a.shift() != 0) {
    row = g.pointwise(Pointwise::Add, row, g.number(Data::Int32, a.keys), Data::Int32);
    row = g.pointwise(Pointwise::Subtract, row, g.number(Data::Int32, a.queries), Data::Int32);
  }
  const int column = g.index(scores, kColumn);
  const int seen = g.pointwise(Pointwise::GreaterOrEqual, row, column, Data::Boolean);
  const int hidden = g.number(Data::Float, std::numeric_limits<float>::lowest());
  return g.select(scores, hidden, seen);
}

/// S = Q K^T / sqrt(head_dim)
int scores_from(GraphBuilder& g, const Attention& a, int q, int k, int scale) {
  return g.pointwise(Pointwise::Multiply, g.matmul(q, k, scores_of(a)), scale);
}
int scale_of(GraphBuilder& g, const Attention& a) {
  return g.number(Data::Float, 1 / std::sqrt(static_cast<double>(a.head_dim)));
}

/// y = x^T b for each head of queries, added up over those that share a head of keys.
void product_of_transposed(GraphBuilder& g, const Attention& a, Data type, int x, int b, int y) {
  const int transposed = g.transposed(x, type);
  if (a.group() == 1) return g.matmul(transposed, b, y);
  g.reduce(Reduce::Add, g.matmul(transposed, b, all_heads(a, a.keys), type), y);
}

}  // namespace

std::string no_attention_graph(const Case& c) {
  const Attention a = attention_of(c);
  if (c.type != DType::Bf16 && c.type != DType::F16)
    return std::string(name_of(c.type)) + " is not a type of cuDNN's attention";
  if (a.head_dim > 128) return "head_dim above 128 has no backward pass in cuDNN";
  if (a.documents > 0) return "documents are not given to cuDNN";
  if (a.causal && a.shift() < 0) return "cuDNN has no queries that see no key";
  return "";
}

cudnn::Graph attention_forward_graph(const Case& c) {
  const Attention a = attention_of(c);
  const Data type = stored_as(c);
  GraphBuilder g;
  const int q = queries_in(g, type, a), k = keys_transposed(g, type, a), v = keys_in(g, type, a);
  const int out = queries_in(g, type, a), lse = rows_in(g, a);
  const int scores = masked(g, a, scores_from(g, a, q, k, scale_of(g, a)));
  const int maximum = g.reduce(Reduce::Max, scores, rows_of(a));
  const int e = g.pointwise(Pointwise::Exp, g.pointwise(Pointwise::Subtract, scores, maximum));
  const int sum = g.reduce(Reduce::Add, e, rows_of(a));
  g.pointwise(Pointwise::Add, maximum, g.pointwise(Pointwise::Log, sum), lse);
  const int p = g.pointwise(Pointwise::Divide, e, sum, type);
  g.matmul(p, v, out);
  return g.take();
}

cudnn::Graph attention_backward_graph(const Case& c) {
  const Attention a = attention_of(c);
  const Data type = stored_as(c);
  GraphBuilder g;
  const int q = queries_in(g, type, a), k = keys_transposed(g, type, a);
  const int v = keys_transposed(g, type, a), out = queries_in(g, type, a), lse = rows_in(g, a);
  const int dout = queries_in(g, type, a), dq = queries_in(g, type, a);
  const int dk = keys_in(g, type, a), dv = keys_in(g, type, a), delta = rows_in(g, a);
  const Sizes dq_sizes = all_heads(a, a.queries);
  const int dq_sum = g.memory(Data::Float, dq_sizes, cudnn::packed_strides(dq_sizes));
  const int scale = scale_of(g, a);

  const int product = g.pointwise(Pointwise::Multiply, dout, out);
  const int row_sum = g.reduce(Reduce::Add, product, rows_of(a));
  g.pointwise(Pointwise::Multiply, row_sum, g.number(Data::Float, 1), delta);  // no dropout: 1

  const int scores = scores_from(g, a, q, k, scale);
  const int p =
      g.pointwise(Pointwise::Exp, masked(g, a, g.pointwise(Pointwise::Subtract, scores, lse)));
  product_of_transposed(g, a, type, p, dout, dv);

  const int dp = g.pointwise(Pointwise::Subtract, g.matmul(dout, v, scores_of(a)), delta);
  const int ds = g.pointwise(Pointwise::Multiply, g.pointwise(Pointwise::Multiply, dp, p), scale);
  product_of_transposed(g, a, type, ds, q, dk);
  g.matmul(ds, g.transposed(k, type), dq_sum);
  g.pointwise(Pointwise::Identity, dq_sum, -1, dq);
  return g.take();
}

}  // namespace paceline::kernels
