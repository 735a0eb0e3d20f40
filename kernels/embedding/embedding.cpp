// SPDX-License-Identifier: Apache-2.0
#include "kernels/embedding/embedding.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/dispatch.hpp"
#include "kernels/rows.hpp"

namespace paceline::kernels {
namespace {

std::int64_t table_size(const Case& c) { return c.shape["vocab"] * c.shape["columns"]; }
TensorSpec tokens(const Case& c) {
  return {"tokens",        Use::In,     DType::I32,
          c.shape["rows"], Fill::Whole, static_cast<double>(c.shape["vocab"])};
}
/// Bytes of the tokens and the rows, and how many different rows of the table are expected to be
/// touched by tokens that are drawn evenly.
double row_bytes(const Case& c) {
  return static_cast<double>(c.shape["rows"]) * 4 +
         static_cast<double>(elements(c)) * static_cast<double>(bytes_of(c.type));
}
double touched(const Case& c) {
  const auto vocab = static_cast<double>(c.shape["vocab"]),
             rows = static_cast<double>(c.shape["rows"]);
  return -vocab * std::expm1(rows * std::log1p(-1 / vocab));
}

std::vector<TensorSpec> forward_tensors(const Case& c) {
  return {{"table", Use::In, c.type, table_size(c)},
          tokens(c),
          {"y", Use::Out, c.type, elements(c), {}, 0, 0}};
}
Work forward_work(const Case& c) {
  const double row =
      static_cast<double>(c.shape["columns"]) * static_cast<double>(bytes_of(c.type));
  return {0, row_bytes(c) + touched(c) * row};
}

void forward_reference(const Case& c, Values& v) {
  const std::int64_t n = c.shape["columns"];
  for (std::size_t row = 0; row < v[1].size(); ++row)
    std::copy_n(v[0].cbegin() + static_cast<std::int64_t>(v[1][row]) * n, n,
                v[2].begin() + static_cast<std::int64_t>(row) * n);
}

template <class T>
void forward_cpu(const Call& call) {
  const std::int64_t n = call["columns"];
  const auto* token = call.at<std::int32_t>(1);
  for_rows(call["rows"], n, [&](std::int64_t row, std::int64_t start) {
    std::copy_n(call.at<T>(0) + token[row] * n, n, call.at<T>(2) + start);
  });
}

std::vector<TensorSpec> weight_tensors(const Case& c) {
  const std::int64_t vocab = c.shape["vocab"];
  return {tokens(c),
          {"dy", Use::In, c.type, elements(c)},
          {"dtable", Use::InOut, DType::F32, table_size(c), Fill::Normal, 1, 2e-6},
          {"first", Use::Scratch, DType::I32, vocab},
          {"uses", Use::Scratch, DType::I32, vocab}};
}
Work weight_work(const Case& c) {
  const double row = static_cast<double>(c.shape["columns"]) * 4;
  return {static_cast<double>(elements(c)), row_bytes(c) + touched(c) * row * 2};
}

void weight_reference(const Case& c, Values& v) {
  const auto n = static_cast<std::size_t>(c.shape["columns"]);
  for (std::size_t i = 0; i < v[1].size(); ++i)
    v[2][static_cast<std::size_t>(v[0][i / n]) * n + i % n] += v[1][i];
}

template <class T>
void weight_cpu(const Call& call) {
  const std::int64_t n = call["columns"];
  const auto* token = call.at<std::int32_t>(0);
  for_rows(call["rows"], n, [&](std::int64_t row, std::int64_t start) {
    const T* dy = call.at<T>(1) + start;
    float* dtable = call.at<float>(2) + token[row] * n;
    for (std::int64_t i = 0; i < n; ++i) dtable[i] += static_cast<float>(dy[i]);
  });
}

// Every token once, often, and more often than a device's block finds at once.
std::vector<Shape> test_shapes() {
  return {{{"rows", 1}, {"vocab", 1}, {"columns", 1}},
          {{"rows", 5}, {"vocab", 3}, {"columns", 33}},
          {{"rows", 6}, {"vocab", 1000}, {"columns", 40}},
          {{"rows", 300}, {"vocab", 2}, {"columns", 8}}};
}
std::vector<Shape> bench_shapes() {
  return {{{"rows", 4096}, {"vocab", 32000}, {"columns", 1024}},
          {{"rows", 8192}, {"vocab", 16384}, {"columns", 4096}}};
}

}  // namespace

std::vector<Operation> embedding_operations() {
  return {{"embedding", "forward", "rows of a table by token", float_types(), forward_tensors,
           forward_work, test_shapes, bench_shapes, forward_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, forward_cpu); },
           PACELINE_ON_DEVICE(embedding_forward)},
          {"embedding", "weight-gradient", "rows added to the table's gradient by token",
           float_types(), weight_tensors, weight_work, test_shapes, bench_shapes, weight_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, weight_cpu); },
           PACELINE_ON_DEVICE(embedding_weight_gradient)}};
}

}  // namespace paceline::kernels
