// SPDX-License-Identifier: Apache-2.0
#include "kernels/triad/triad.hpp"

#include "kernels/dispatch.hpp"
#include "kernels/rows.hpp"

namespace paceline::kernels {
namespace {

std::vector<TensorSpec> tensors(const Case& c) {
  const std::int64_t n = c.shape["count"];
  return {{"b", Use::In, c.type, n},
          {"c", Use::In, c.type, n},
          {"a", Use::Out, c.type, n, {}, 0, 2e-7}};
}
Work work(const Case& c) {
  return {2 * static_cast<double>(c.shape["count"]), moved_bytes(tensors(c))};
}

void reference(const Case&, Values& v) {
  for (std::size_t i = 0; i < v[0].size(); ++i) v[2][i] = v[0][i] + double{kTriadScalar} * v[1][i];
}

template <class T>
void cpu(const Call& call) {
  const std::int64_t n = call["count"];
  const T *b = call.at<T>(0), *c = call.at<T>(1);
  T* a = call.at<T>(2);
  for (std::int64_t i = 0; i < n; ++i)
    a[i] = T(static_cast<float>(b[i]) + kTriadScalar * static_cast<float>(c[i]));
}

// Packs and a rest; a whole tile of a device and a rest of it.
std::vector<Shape> test_shapes() { return {{{"count", 1}}, {{"count", 1003}}, {{"count", 8200}}}; }
/// From what caches hold to well beyond any.
std::vector<Shape> bench_shapes() {
  std::vector<Shape> result;
  for (int log2 = 12; log2 <= 26; log2 += 2) result.push_back({{"count", std::int64_t{1} << log2}});
  return result;
}

}  // namespace

std::vector<Operation> triad_operations() {
  return {{"triad", "forward", "a = b + 3 c", float_types(), tensors, work, test_shapes,
           bench_shapes, reference, [](const Call& c) { PACELINE_BY_TYPE(c, cpu); },
           PACELINE_ON_DEVICE(triad_forward)}};
}

}  // namespace paceline::kernels
