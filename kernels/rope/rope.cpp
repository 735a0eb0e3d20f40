// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope/rope.hpp"

#include <cmath>

#include "kernels/dispatch.hpp"
#include "kernels/rows.hpp"

namespace paceline::kernels {
namespace {

constexpr double kTolerance = 1e-6;

std::int64_t size(const Case& c) {
  return c.shape["rows"] * c.shape["heads"] * c.shape["head_dim"];
}
std::vector<TensorSpec> tensors(const Case& c, const char* from, const char* to) {
  const std::int64_t angles = c.shape["rows"] * c.shape["head_dim"] / 2;
  return {{from, Use::In, c.type, size(c)},
          {"cos", Use::In, DType::F32, angles},
          {"sin", Use::In, DType::F32, angles},
          {to, Use::Out, c.type, size(c), {}, 0, kTolerance}};
}
std::vector<TensorSpec> forward_tensors(const Case& c) { return tensors(c, "x", "y"); }
std::vector<TensorSpec> input_tensors(const Case& c) { return tensors(c, "dy", "dx"); }

Work work(const Case& c) {
  return {3.0 * static_cast<double>(size(c)), moved_bytes(forward_tensors(c))};
}

template <int kDirection>
void reference(const Case& c, Values& v) {
  const auto heads = static_cast<std::size_t>(c.shape["heads"]),
             half = static_cast<std::size_t>(c.shape["head_dim"]) / 2;
  for (std::size_t head = 0; head < v[0].size() / (2 * half); ++head) {
    for (std::size_t i = 0; i < half; ++i) {
      const std::size_t at = head * 2 * half + i, angle = head / heads * half + i;
      const double cosine = v[1][angle], sine = kDirection * v[2][angle];
      v[3][at] = v[0][at] * cosine - v[0][at + half] * sine;
      v[3][at + half] = v[0][at + half] * cosine + v[0][at] * sine;
    }
  }
}

template <class T>
void cpu(const Call& call, float direction) {
  const std::int64_t heads = call["heads"], half = call["head_dim"] / 2;
  for (std::int64_t head = 0; head < call["rows"] * heads; ++head) {
    const T* x = call.at<T>(0) + head * 2 * half;
    const float *cosine = call.at<float>(1) + head / heads * half,
                *sine = call.at<float>(2) + head / heads * half;
    T* y = call.at<T>(3) + head * 2 * half;
    for (std::int64_t i = 0; i < half; ++i) {
      const Pair turned = rotated({static_cast<float>(x[i]), static_cast<float>(x[i + half])},
                                  cosine[i], direction * sine[i]);
      y[i] = T(turned.first);
      y[i + half] = T(turned.second);
    }
  }
}

std::vector<Shape> test_shapes() {
  return {{{"rows", 1}, {"heads", 1}, {"head_dim", 2}},
          {{"rows", 3}, {"heads", 2}, {"head_dim", 6}},
          {{"rows", 5}, {"heads", 3}, {"head_dim", 64}},
          {{"rows", 2}, {"heads", 40}, {"head_dim", 128}}};
}
std::vector<Shape> bench_shapes() {
  return {{{"rows", 2048}, {"heads", 8}, {"head_dim", 64}},
          {{"rows", 4096}, {"heads", 32}, {"head_dim", 128}},
          {{"rows", 8192}, {"heads", 64}, {"head_dim", 128}}};
}

}  // namespace

double rope_angle(std::int64_t position, std::int64_t i, std::int64_t head_dim, double base) {
  return static_cast<double>(position) *
         std::pow(base, -2 * static_cast<double>(i) / static_cast<double>(head_dim));
}

std::vector<Operation> rope_operations() {
  return {{"rope", "forward", "pairs of a head rotated by the position's angles", float_types(),
           forward_tensors, work, test_shapes, bench_shapes, reference<1>,
           [](const Call& c) { PACELINE_BY_TYPE(c, cpu, 1); }, PACELINE_ON_DEVICE(rope_forward)},
          {"rope", "input-gradient", "the rotation back", float_types(), input_tensors, work,
           test_shapes, bench_shapes, reference<-1>,
           [](const Call& c) { PACELINE_BY_TYPE(c, cpu, -1); },
           PACELINE_ON_DEVICE(rope_input_gradient)}};
}

}  // namespace paceline::kernels
