// SPDX-License-Identifier: Apache-2.0
#include "kernels/bias/bias.hpp"

#include "kernels/dispatch.hpp"
#include "kernels/rows.hpp"

namespace paceline::kernels {
namespace {

constexpr double kTolerance = 2e-5;  // sums of a few thousand floats

std::vector<TensorSpec> forward_tensors(const Case& c) {
  return {{"x", Use::In, c.type, elements(c)},
          {"b", Use::In, DType::F32, c.shape["columns"]},
          {"y", Use::Out, c.type, elements(c), {}, 0, kTolerance}};
}
Work forward_work(const Case& c) { return work_of(c, forward_tensors(c), 1); }

void forward_reference(const Case&, Values& v) {
  for (std::size_t i = 0; i < v[0].size(); ++i) v[2][i] = v[0][i] + v[1][i % v[1].size()];
}

template <class T>
void forward_cpu(const Call& call) {
  const std::int64_t n = call["columns"];
  const float* b = call.at<float>(1);
  for_rows(call["rows"], n, [&](std::int64_t, std::int64_t start) {
    const T* x = call.at<T>(0) + start;
    T* y = call.at<T>(2) + start;
    for (std::int64_t i = 0; i < n; ++i) y[i] = T(static_cast<float>(x[i]) + b[i]);
  });
}

std::vector<TensorSpec> weight_tensors(const Case& c) {
  return {{"dy", Use::In, c.type, elements(c)},
          {"db", Use::Out, DType::F32, c.shape["columns"], {}, 0, kTolerance},
          {"partial", Use::Scratch, DType::F32,
           column_slice_count(c.shape["rows"], c.shape["columns"]) * c.shape["columns"]}};
}
Work weight_work(const Case& c) { return work_of(c, weight_tensors(c), 1); }

void weight_reference(const Case&, Values& v) {
  for (std::size_t i = 0; i < v[0].size(); ++i) v[1][i % v[1].size()] += v[0][i];
}

template <class T>
void weight_cpu(const Call& call) {
  const std::int64_t n = call["columns"];
  float* db = call.at<float>(1);
  for (std::int64_t i = 0; i < n; ++i) db[i] = 0;
  for_rows(call["rows"], n, [&](std::int64_t, std::int64_t start) {
    const T* dy = call.at<T>(0) + start;
    for (std::int64_t i = 0; i < n; ++i) db[i] += static_cast<float>(dy[i]);
  });
}

}  // namespace

std::vector<Operation> bias_operations() {
  return {
      {"bias", "forward", "y = x + b in every row", float_types(), forward_tensors, forward_work,
       row_test_shapes, row_bench_shapes, forward_reference,
       [](const Call& c) { PACELINE_BY_TYPE(c, forward_cpu); }, PACELINE_ON_DEVICE(bias_forward)},
      {"bias", "weight-gradient", "db summed over rows", float_types(), weight_tensors, weight_work,
       row_test_shapes, row_bench_shapes, weight_reference,
       [](const Call& c) { PACELINE_BY_TYPE(c, weight_cpu); },
       PACELINE_ON_DEVICE(bias_weight_gradient)}};
}

}  // namespace paceline::kernels
