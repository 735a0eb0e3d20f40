// SPDX-License-Identifier: Apache-2.0
#include "kernels/cross_entropy/cross_entropy.hpp"

#include <algorithm>

#include "kernels/cpu_rows.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/rows.hpp"

namespace paceline::kernels {
namespace {

constexpr double kTolerance = 2e-5;

std::int64_t logits(const Case& c) { return c.shape["rows"] * slice_of(c).columns; }
TensorSpec targets(const Case& c) {
  return {"targets",       Use::In,     DType::I32,
          c.shape["rows"], Fill::Whole, static_cast<double>(c.shape["vocab"])};
}

std::vector<TensorSpec> forward_tensors(const Case& c) {
  const Use state = c.shape.has("chunk") ? Use::InOut : Use::Out;
  const std::int64_t rows = c.shape["rows"];
  return {{"logits", Use::In, c.type, logits(c), Fill::Normal, 3},
          targets(c),
          {"loss", state, DType::F32, rows, Fill::Normal, 1, kTolerance},
          {"lse", state, DType::F32, rows, Fill::Uniform, 9, kTolerance}};
}
Work forward_work(const Case& c) {
  return {4.0 * static_cast<double>(logits(c)), moved_bytes(forward_tensors(c))};
}

void forward_reference(const Case& c, Values& v) {
  const auto [first, n] = slice_of(c);
  for (std::size_t row = 0; row < v[1].size(); ++row) {
    const auto x = v[0].cbegin() + static_cast<std::ptrdiff_t>(row) * n;
    double top = *std::max_element(x, x + n), sum = 0;
    double picked = first > 0 ? v[3][row] - v[2][row] : 0;
    if (first > 0) top = std::max(top, v[3][row]);
    for (std::int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - top);
    if (first > 0) sum += std::exp(v[3][row] - top);
    const auto target = static_cast<std::int64_t>(v[1][row]) - first;
    if (target >= 0 && target < n) picked += x[target];
    v[3][row] = top + std::log(sum);
    v[2][row] = v[3][row] - picked;
  }
}

template <class T>
void forward_cpu(const Call& call) {
  const auto [first, n] = slice_of(call.c);
  float *loss = call.at<float>(2), *lse = call.at<float>(3);
  for (std::int64_t row = 0; row < call["rows"]; ++row) {
    const T* x = call.at<T>(0) + row * n;
    const float top =
        max_over(n, nothing_summed().max, [&](std::int64_t i) { return static_cast<float>(x[i]); });
    const float sum = sum_over(
        n, [&](std::int64_t i) { return numeric::exp_of(static_cast<float>(x[i]) - top); });
    const std::int64_t target = call.at<std::int32_t>(1)[row] - first;
    const float picked = target >= 0 && target < n ? static_cast<float>(x[target]) : 0;
    const RowLoss before = first > 0 ? RowLoss{lse[row], loss[row]} : RowLoss{};
    const RowLoss after = next_loss({top, sum}, picked, first > 0, before);
    lse[row] = after.lse;
    loss[row] = after.loss;
  }
}

// lse as forward wrote it: here any number near it does.
std::vector<TensorSpec> input_tensors(const Case& c) {
  const std::int64_t rows = c.shape["rows"];
  return {{"logits", Use::In, c.type, logits(c)},
          targets(c),
          {"lse", Use::In, DType::F32, rows, Fill::Uniform, 9},
          {"dloss", Use::In, DType::F32, rows, Fill::Uniform, 1},
          {"dlogits", Use::Out, c.type, logits(c), {}, 0, kTolerance}};
}
Work input_work(const Case& c) {
  return {4.0 * static_cast<double>(logits(c)), moved_bytes(input_tensors(c))};
}

void input_reference(const Case& c, Values& v) {
  const auto [first, n] = slice_of(c);
  for (std::int64_t i = 0; i < logits(c); ++i) {
    const auto row = static_cast<std::size_t>(i / n), at = static_cast<std::size_t>(i);
    const bool target = static_cast<double>(first + i % n) == v[1][row];
    v[4][at] = (std::exp(v[0][at] - v[2][row]) - (target ? 1 : 0)) * v[3][row];
  }
}

template <class T>
void input_cpu(const Call& call) {
  const auto [first, n] = slice_of(call.c);
  for (std::int64_t row = 0; row < call["rows"]; ++row) {
    const T* x = call.at<T>(0) + row * n;
    T* dx = call.at<T>(4) + row * n;
    const float lse = call.at<float>(2)[row], dloss = call.at<float>(3)[row];
    const std::int64_t target = call.at<std::int32_t>(1)[row] - first;
    const bool here = target >= 0 && target < n;
    const float picked = here ? static_cast<float>(x[target]) : 0;  // dx may be x
    for (std::int64_t i = 0; i < n; ++i)
      dx[i] = T(cross_entropy_slope(static_cast<float>(x[i]), lse, false, dloss));
    if (here) dx[target] = T(cross_entropy_slope(picked, lse, true, dloss));
  }
}

std::vector<Shape> test_shapes() {
  return {{{"rows", 1}, {"vocab", 1}},
          {{"rows", 5}, {"vocab", 37}},
          {{"rows", 3}, {"vocab", 808}},
          {{"rows", 2}, {"vocab", 17000}}};
}
std::vector<Shape> bench_shapes() {
  return {{{"rows", 1024}, {"vocab", 8192}},
          {{"rows", 1024}, {"vocab", 32000}},
          {{"rows", 512}, {"vocab", 128256}}};
}
std::vector<Shape> chunk_test_shapes() {
  return {{{"rows", 5}, {"vocab", 37}, {"chunk", 13}, {"first", 0}},
          {{"rows", 5}, {"vocab", 37}, {"chunk", 11}, {"first", 26}},
          {{"rows", 33}, {"vocab", 96}, {"chunk", 32}, {"first", 32}}};
}
std::vector<Shape> chunk_bench_shapes() {
  return {{{"rows", 1024}, {"vocab", 32000}, {"chunk", 4000}, {"first", 4000}},
          {{"rows", 4096}, {"vocab", 128256}, {"chunk", 8016}, {"first", 8016}}};
}

Operation forward(const char* kernel, const char* summary) {
  return {kernel,
          "forward",
          summary,
          float_types(),
          forward_tensors,
          forward_work,
          test_shapes,
          bench_shapes,
          forward_reference,
          [](const Call& c) { PACELINE_BY_TYPE(c, forward_cpu); },
          PACELINE_ON_DEVICE(cross_entropy_forward)};
}
Operation input_gradient(const char* kernel, const char* summary) {
  return {kernel,
          "input-gradient",
          summary,
          float_types(),
          input_tensors,
          input_work,
          test_shapes,
          bench_shapes,
          input_reference,
          [](const Call& c) { PACELINE_BY_TYPE(c, input_cpu); },
          PACELINE_ON_DEVICE(cross_entropy_input_gradient)};
}
Operation of_chunk(Operation operation) {
  operation.test_shapes = chunk_test_shapes;
  operation.bench_shapes = chunk_bench_shapes;
  return operation;
}

}  // namespace

std::vector<Operation> cross_entropy_operations() {
  return {
      forward("cross-entropy", "loss and log-sum-exp of each row of logits"),
      input_gradient("cross-entropy", "dlogits from dloss and log-sum-exp"),
      of_chunk(forward("cross-entropy-chunk", "loss and log-sum-exp so far, with one more chunk")),
      of_chunk(input_gradient("cross-entropy-chunk", "dlogits of one chunk of the vocabulary"))};
}

}  // namespace paceline::kernels
