// SPDX-License-Identifier: Apache-2.0
#include "kernels/add/add.hpp"

#include "kernels/dispatch.hpp"
#include "kernels/rows.hpp"

namespace paceline::kernels {
namespace {

std::vector<TensorSpec> tensors(const Case& c) {
  const std::int64_t n = c.shape["count"];
  return {{"a", Use::In, c.type, n},
          {"b", Use::In, c.type, n},
          {"y", Use::Out, c.type, n, {}, 0, 2e-7}};
}
Work work(const Case& c) {
  return {static_cast<double>(c.shape["count"]), moved_bytes(tensors(c))};
}

void reference(const Case&, Values& v) {
  for (std::size_t i = 0; i < v[0].size(); ++i) v[2][i] = v[0][i] + v[1][i];
}

template <class T>
void cpu(const Call& call) {
  const std::int64_t n = call["count"];
  const T *a = call.at<T>(0), *b = call.at<T>(1);
  T* y = call.at<T>(2);
  for (std::int64_t i = 0; i < n; ++i)
    y[i] = T(static_cast<float>(a[i]) + static_cast<float>(b[i]));
}

std::vector<Shape> test_shapes() { return {{{"count", 1}}, {{"count", 1003}}, {{"count", 8200}}}; }
std::vector<Shape> bench_shapes() {
  return {{{"count", 1 << 16}}, {{"count", 1 << 20}}, {{"count", 1 << 24}}};
}

}  // namespace

std::vector<Operation> add_operations() {
  return {{"add", "forward", "y = a + b", float_types(), tensors, work, test_shapes, bench_shapes,
           reference, [](const Call& c) { PACELINE_BY_TYPE(c, cpu); },
           PACELINE_ON_DEVICE(add_forward)}};
}

}  // namespace paceline::kernels
