// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace paceline::kernels {
namespace {

using base::Error;

int positive(const Case& c, const char* name) {
  const std::int64_t value = c.shape[name];
  if (value < 1 || value > (1 << 30))
    throw Error("attention", std::string(name) + " is " + std::to_string(value),
                "1 to 2^30 are possible");
  return static_cast<int>(value);
}

bool flag(const Case& c, const char* name) {
  if (!c.shape.has(name)) return false;
  const std::int64_t value = c.shape[name];
  if (value != 0 && value != 1)
    throw Error("attention", std::string(name) + " is " + std::to_string(value), "0 or 1");
  return value == 1;
}

void check_documents(const Case& c, Attention& a) {
  const std::int64_t documents = c.shape.has("documents") ? c.shape["documents"] : 0;
  const std::int64_t tokens = std::int64_t{a.batch} * a.queries;
  if (documents == 0) return;
  if (a.queries != a.keys)
    throw Error("attention",
                "documents with " + std::to_string(a.queries) + " queries and " +
                    std::to_string(a.keys) + " keys",
                "both are the same tokens");
  if (documents < 0 || documents > tokens || tokens > std::numeric_limits<std::int32_t>::max())
    throw Error("attention",
                std::to_string(documents) + " documents of " + std::to_string(tokens) + " tokens",
                "at most one a token, and 2^31 - 1 tokens");
  a.documents = static_cast<int>(documents);
}

/// Elements of all sequences, for `rows` of `heads` each.
std::int64_t elements(const Attention& a, int rows, int heads) {
  return std::int64_t{a.batch} * rows * heads * a.head_dim;
}
std::int64_t query_elements(const Attention& a) { return elements(a, a.queries, a.heads); }
std::int64_t key_elements(const Attention& a) { return elements(a, a.keys, a.kv_heads); }
std::int64_t rows(const Attention& a) { return std::int64_t{a.batch} * a.heads * a.queries; }

TensorSpec offsets_spec(const Case& c, const Attention& a) {
  return {"offsets",
          Use::In,
          DType::I32,
          a.documents == 0 ? 0 : a.documents + 1,
          flag(c, "ragged") ? Fill::Cuts : Fill::Steps,
          static_cast<double>(a.batch) * static_cast<double>(a.queries)};
}

/// P and dS are rounded to the stored type before the tensor cores multiply them.
double tolerance(DType type) {
  switch (type) {
    case DType::Bf16:
      return 0x1p-7;
    case DType::F16:
      return 0x1p-10;
    default:
      return 2e-5;
  }
}
constexpr double kLseTolerance = 2e-5;

std::vector<TensorSpec> forward_tensors(const Case& c) {
  const Attention a = attention_of(c);
  return {{"q", Use::In, c.type, query_elements(a)},
          {"k", Use::In, c.type, key_elements(a)},
          {"v", Use::In, c.type, key_elements(a)},
          offsets_spec(c, a),
          {"out", Use::Out, c.type, query_elements(a), {}, 0, tolerance(c.type)},
          {"lse", Use::Out, DType::F32, rows(a), {}, 0, kLseTolerance}};
}

// Backward reads out and lse as forward wrote them; any numbers do, P need not sum to 1. These
// keep rows in one order of magnitude: errors are judged by the mean row. dS is
// rounded once more than P.
std::vector<TensorSpec> backward_tensors(const Case& c) {
  const Attention a = attention_of(c);
  const double allowed = 2 * tolerance(c.type);
  return {{"q", Use::In, c.type, query_elements(a), Fill::Normal, 0.5},
          {"k", Use::In, c.type, key_elements(a), Fill::Normal, 0.5},
          {"v", Use::In, c.type, key_elements(a)},
          offsets_spec(c, a),
          {"out", Use::In, c.type, query_elements(a), Fill::Normal, 0.1},
          {"lse", Use::In, DType::F32, rows(a), Fill::Uniform, 0.5},
          {"dout", Use::In, c.type, query_elements(a)},
          {"dq", Use::Out, c.type, query_elements(a), {}, 0, allowed},
          {"dk", Use::Out, c.type, key_elements(a), {}, 0, allowed},
          {"dv", Use::Out, c.type, key_elements(a), {}, 0, allowed},
          {"delta", Use::Scratch, DType::F32, rows(a)}};
}

/// Pairs of query and key that see each other in one head, over the batch. Causal: half the square
/// in which the diagonal ends (the common convention, without the half diagonal). Documents: of
/// equal length, or ragged ones in the mean: for cuts at random, E sum of squares = 2 / (n + 1).
double pairs(const Case& c, const Attention& a) {
  const double queries = a.queries, keys = a.keys, square = std::min(queries, keys);
  const double whole = queries * keys, causal = whole - square * queries + square * square / 2;
  if (a.documents == 0) return a.batch * (a.causal ? causal : whole);
  const double tokens = a.batch * queries, pieces = std::max(a.documents, a.batch);
  const double share = flag(c, "ragged") ? 2 / (pieces + 1) : 1 / pieces;
  return std::min(tokens * tokens * share, a.batch * whole) / (a.causal ? 2 : 1);
}

/// Q K^T and P V.
Work forward_work(const Case& c) {
  const Attention a = attention_of(c);
  const double size = static_cast<double>(bytes_of(c.type));
  const double q = static_cast<double>(query_elements(a)), k = static_cast<double>(key_elements(a));
  return {4 * pairs(c, a) * a.heads * a.head_dim,
          (2 * q + 2 * k) * size + 4 * static_cast<double>(rows(a))};
}
/// Five products instead of two, the recomputation of S among them.
Work backward_work(const Case& c) {
  const Attention a = attention_of(c);
  const double size = static_cast<double>(bytes_of(c.type));
  const double q = static_cast<double>(query_elements(a)), k = static_cast<double>(key_elements(a));
  return {2.5 * forward_work(c).flops, (4 * q + 4 * k) * size + 4 * static_cast<double>(rows(a))};
}

/// By the definition, without the functions the kernels use: same document, and not a later key.
bool sees(const Attention& a, const std::vector<double>& offsets, int b, int query, int key) {
  if (a.causal && key > query + a.keys - a.queries) return false;
  const double tokens[2] = {static_cast<double>(b) * a.queries + query,
                            static_cast<double>(b) * a.queries + key};
  for (const double cut : offsets) {
    if ((cut <= tokens[0]) != (cut <= tokens[1])) return false;
  }
  return true;
}

double dot(const std::vector<double>& x, std::int64_t x_at, const std::vector<double>& y,
           std::int64_t y_at, int count) {
  double sum = 0;
  for (int i = 0; i < count; ++i)
    sum += x[static_cast<std::size_t>(x_at + i)] * y[static_cast<std::size_t>(y_at + i)];
  return sum;
}
/// y += factor * x
void add(std::vector<double>& y, std::int64_t y_at, double factor, const std::vector<double>& x,
         std::int64_t x_at, int count) {
  for (int i = 0; i < count; ++i)
    y[static_cast<std::size_t>(y_at + i)] += factor * x[static_cast<std::size_t>(x_at + i)];
}

/// Calls f(b, head, query) for every row of scores.
template <class F>
void for_rows(const Attention& a, const F& f) {
  for (int b = 0; b < a.batch; ++b) {
    for (int head = 0; head < a.heads; ++head) {
      for (int query = 0; query < a.queries; ++query) f(b, head, query);
    }
  }
}

void forward_reference(const Case& c, Values& v) {
  const Attention a = attention_of(c);
  const auto &q = v[kForwardQ], &k = v[kForwardK], &values = v[kForwardV];
  const double scale = 1 / std::sqrt(static_cast<double>(a.head_dim));
  for_rows(a, [&](int b, int head, int query) {
    const std::int64_t at = a.query_at(b, query, head);
    std::vector<double> scores(static_cast<std::size_t>(a.keys),
                               -std::numeric_limits<double>::infinity());
    double maximum = scores[0];
    for (int key = 0; key < a.keys; ++key) {
      if (!sees(a, v[kForwardOffsets], b, query, key)) continue;
      double& score = scores[static_cast<std::size_t>(key)];
      score = scale * dot(q, at, k, a.key_at(b, key, head / a.group()), a.head_dim);
      maximum = std::max(maximum, score);
    }
    const auto lse_at = static_cast<std::size_t>(a.lse_at(b, query, head));
    v[kForwardLse][lse_at] = maximum;
    if (std::isinf(maximum)) return;
    double sum = 0;
    for (const double score : scores) sum += std::exp(score - maximum);
    for (int key = 0; key < a.keys; ++key)
      add(v[kForwardOut], at, std::exp(scores[static_cast<std::size_t>(key)] - maximum) / sum,
          values, a.key_at(b, key, head / a.group()), a.head_dim);
    v[kForwardLse][lse_at] = maximum + std::log(sum);
  });
}

void backward_reference(const Case& c, Values& v) {
  const Attention a = attention_of(c);
  const double scale = 1 / std::sqrt(static_cast<double>(a.head_dim));
  for_rows(a, [&](int b, int head, int query) {
    const std::int64_t at = a.query_at(b, query, head);
    const double delta = dot(v[kOut], at, v[kDout], at, a.head_dim);
    for (int key = 0; key < a.keys; ++key) {
      if (!sees(a, v[kOffsets], b, query, key)) continue;
      const std::int64_t key_at = a.key_at(b, key, head / a.group());
      const double score = scale * dot(v[kQ], at, v[kK], key_at, a.head_dim);
      const double p =
          std::exp(score - v[kLse][static_cast<std::size_t>(a.lse_at(b, query, head))]);
      const double ds = p * (dot(v[kDout], at, v[kV], key_at, a.head_dim) - delta);
      add(v[kDv], key_at, p, v[kDout], at, a.head_dim);
      add(v[kDk], key_at, scale * ds, v[kQ], at, a.head_dim);
      add(v[kDq], at, scale * ds, v[kK], key_at, a.head_dim);
    }
  });
}

Shape shape(int batch, int heads, int kv_heads, int queries, int keys, int head_dim, int causal) {
  return {{"batch", batch}, {"heads", heads},       {"kv_heads", kv_heads}, {"queries", queries},
          {"keys", keys},   {"head_dim", head_dim}, {"causal", causal}};
}
Shape packed(Shape result, int documents, int ragged) {
  result.set("documents", documents);
  result.set("ragged", ragged);
  return result;
}

std::vector<Shape> test_shapes() {
  return {shape(1, 1, 1, 1, 1, 8, 0),
          shape(2, 4, 2, 5, 9, 24, 1),
          shape(1, 2, 1, 33, 70, 256, 0),
          shape(1, 1, 1, 9, 4, 64, 1),  // the first queries see nothing
          shape(1, 2, 1, 130, 130, 64, 1),
          shape(1, 2, 1, 40, 139, 128, 1),
          shape(1, 1, 1, 150, 35, 128, 0),
          packed(shape(2, 2, 1, 90, 90, 64, 1), 5, 1),
          packed(shape(1, 1, 1, 140, 140, 128, 0), 3, 0)};
}
std::vector<Shape> bench_shapes() {
  return {shape(4, 8, 8, 128, 128, 64, 1),      shape(2, 8, 8, 256, 256, 64, 1),
          shape(2, 8, 8, 512, 512, 64, 1),      shape(1, 8, 8, 1024, 1024, 64, 1),
          shape(2, 8, 2, 512, 512, 128, 1),     shape(1, 16, 16, 512, 512, 64, 0),
          shape(1, 16, 16, 1024, 1024, 128, 1), shape(4, 16, 16, 2048, 2048, 64, 1),
          shape(2, 32, 8, 2048, 2048, 128, 1),  shape(1, 32, 32, 4096, 4096, 128, 0),
          shape(1, 32, 8, 8192, 8192, 128, 1),  packed(shape(1, 32, 8, 8192, 8192, 128, 1), 8, 0)};
}

const std::vector<DType> kFloats = {DType::F32, DType::Bf16, DType::F16};

}  // namespace

Attention attention_of(const Case& c) {
  Attention a{positive(c, "batch"),
              positive(c, "heads"),
              positive(c, "kv_heads"),
              positive(c, "queries"),
              positive(c, "keys"),
              positive(c, "head_dim"),
              0,
              flag(c, "causal")};
  if (a.heads % a.kv_heads != 0)
    throw Error("attention", std::to_string(a.kv_heads) + " kv_heads do not divide " +
                                 std::to_string(a.heads) + " heads");
  if (a.head_dim % 8 != 0 || a.head_dim > 256)
    throw Error("attention", "head_dim is " + std::to_string(a.head_dim),
                "multiples of 8 up to 256 are possible");
  const double largest = 1e15;  // far more than any memory, far less than 2^63 bytes
  if (static_cast<double>(a.batch) * std::max(a.queries, a.keys) * a.heads * a.head_dim > largest)
    throw Error("attention", "tensors of " + c.shape.text() + " have more than 1e15 elements");
  check_documents(c, a);
  return a;
}

std::vector<Operation> attention_operations() {
  return {{"attention", "forward", "out and lse of softmax(q k^T / sqrt(head_dim)) v", kFloats,
           forward_tensors, forward_work, test_shapes, bench_shapes, forward_reference,
           attention_cpu_forward, PACELINE_ON_DEVICE(attention_forward)},
          {"attention", "backward", "dq, dk, dv from dout, with the scores computed again", kFloats,
           backward_tensors, backward_work, test_shapes, bench_shapes, backward_reference,
           attention_cpu_backward, PACELINE_ON_DEVICE(attention_backward)}};
}

}  // namespace paceline::kernels
