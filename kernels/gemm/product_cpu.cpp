// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "base/error.hpp"
#include "kernels/gemm/eigen_product.hpp"
#include "kernels/gemm/product.hpp"

namespace paceline::kernels {
namespace {

using numeric::bf16;
using numeric::fp16;
using numeric::fp8_e4m3;
using numeric::fp8_e5m2;

/// Elements of a block's side: every converted element then meets about a thousand others.
constexpr std::int64_t kBlock = 1024, kDepth = 512;

void run(const FloatProduct& product) {
  static const bool avx2 = has_avx2();
  (avx2 ? eigen_product_avx2 : eigen_product_generic)(product);
}

template <class T>
void widen(const T* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}
/// 8-bit formats: all 256 values in a table.
template <class T>
void look_up(const T* from, float* to, std::int64_t count) {
  static const std::array<float, 256> values = [] {
    std::array<float, 256> result{};
    for (unsigned code = 0; code < 256; ++code) {
      T value;
      value.bits = static_cast<std::uint8_t>(code);
      result[code] = static_cast<float>(value);
    }
    return result;
  }();
  for (std::int64_t i = 0; i < count; ++i) to[i] = values[from[i].bits];
}

void widen(DType type, const void* from, std::int64_t first, float* to, std::int64_t count) {
  switch (type) {
    case DType::F32:
      return widen(static_cast<const float*>(from) + first, to, count);
    case DType::Bf16:
      return widen(static_cast<const bf16*>(from) + first, to, count);
    case DType::F16:
      return widen(static_cast<const fp16*>(from) + first, to, count);
    case DType::E4m3:
      return look_up(static_cast<const fp8_e4m3*>(from) + first, to, count);
    case DType::E5m2:
      return look_up(static_cast<const fp8_e5m2*>(from) + first, to, count);
    default:
      PACELINE_CHECK(false);
  }
}

/// Rows and columns of op(factor), or of the result.
struct Window {
  std::int64_t row, rows, column, columns;
};

/// fp32 copy of a window in its stored orientation, rows packed.
struct Block {
  const float* data;
  std::int64_t stride;
};
Block block(const Factor& f, std::int64_t batch, Window w, std::vector<float>& scratch) {
  if (f.transposed) w = {w.column, w.columns, w.row, w.rows};
  const std::int64_t first = batch * f.step + w.row * f.stride + w.column;
  if (f.type == DType::F32) return {static_cast<const float*>(f.data) + first, f.stride};
  scratch.resize(std::max(scratch.size(), static_cast<std::size_t>(w.rows * w.columns)));
  for (std::int64_t i = 0; i < w.rows; ++i)
    widen(f.type, f.data, first + i * f.stride, &scratch[static_cast<std::size_t>(i * w.columns)],
          w.columns);
  return {scratch.data(), w.columns};
}

template <class T>
void store(const Product& p, std::int64_t first, const Window& w, const float* sums) {
  for (std::int64_t i = 0; i < w.rows; ++i) {
    const std::int64_t at = first + (w.row + i) * p.stride + w.column;
    T* to = static_cast<T*>(p.result) + at;
    const T* add = p.beta == 0 ? nullptr : static_cast<const T*>(p.addend) + at;
    for (std::int64_t j = 0; j < w.columns; ++j) {
      const float sum = sums[i * w.columns + j];
      to[j] = T(add == nullptr ? sum : sum + p.beta * static_cast<float>(add[j]));
    }
  }
}
void store(const Product& p, std::int64_t batch, const Window& w, const float* sums) {
  const std::int64_t first = batch * p.step;
  if (p.result_type == DType::F32) return store<float>(p, first, w, sums);
  if (p.result_type == DType::Bf16) return store<bf16>(p, first, w, sums);
  PACELINE_CHECK(p.result_type == DType::F16);
  store<fp16>(p, first, w, sums);
}

/// Kept between calls: fresh pages would cost as much as a small product.
struct Scratch {
  std::vector<float> a, b, sums;
};
Scratch& scratch() {
  static thread_local Scratch result;
  return result;
}

float whole_alpha(const Product& p) {
  return p.alpha * (p.a_scale == nullptr ? 1 : *p.a_scale) *
         (p.b_scale == nullptr ? 1 : *p.b_scale);
}

/// One window of the result: sums over blocks along k in fp32, then rounded once.
void multiply_window(const Product& p, std::int64_t batch, const Window& w) {
  Scratch& s = scratch();
  s.sums.resize(std::max(s.sums.size(), static_cast<std::size_t>(w.rows * w.columns)));
  if (p.k == 0) std::fill_n(s.sums.begin(), w.rows * w.columns, 0.0F);
  for (std::int64_t k = 0; k < p.k; k += kDepth) {
    const std::int64_t depth = std::min(kDepth, p.k - k);
    const Block a = block(p.a, batch, {w.row, w.rows, k, depth}, s.a),
                b = block(p.b, batch, {k, depth, w.column, w.columns}, s.b);
    run({w.rows, w.columns, depth, a.data, b.data, s.sums.data(), a.stride, b.stride, w.columns,
         p.a.transposed, p.b.transposed, whole_alpha(p), k == 0 ? 0.0F : 1.0F});
  }
  store(p, batch, w, s.sums.data());
}

/// Everything in fp32: one product in place.
void multiply_floats(const Product& p, std::int64_t batch) {
  auto* result = static_cast<float*>(p.result) + batch * p.step;
  if (p.beta != 0 && p.addend != p.result) {
    const float* addend = static_cast<const float*>(p.addend) + batch * p.step;
    for (std::int64_t i = 0; i < p.m; ++i)
      std::copy_n(addend + i * p.stride, p.n, result + i * p.stride);
  }
  run({p.m, p.n, p.k, static_cast<const float*>(p.a.data) + batch * p.a.step,
       static_cast<const float*>(p.b.data) + batch * p.b.step, result, p.a.stride, p.b.stride,
       p.stride, p.a.transposed, p.b.transposed, whole_alpha(p), p.beta});
}

}  // namespace

bool has_avx2() {
#ifdef __x86_64__
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}
#ifndef __x86_64__
void eigen_product_avx2(const FloatProduct&) { PACELINE_CHECK(false); }
#endif

void multiply_cpu(const Product& p) {
  const bool floats =
      p.a.type == DType::F32 && p.b.type == DType::F32 && p.result_type == DType::F32;
  for (std::int64_t batch = 0; batch < p.batch; ++batch) {
    if (floats) {
      multiply_floats(p, batch);
      continue;
    }
    for (std::int64_t i = 0; i < p.m; i += kBlock) {
      for (std::int64_t j = 0; j < p.n; j += kBlock)
        multiply_window(p, batch, {i, std::min(kBlock, p.m - i), j, std::min(kBlock, p.n - j)});
    }
  }
}

}  // namespace paceline::kernels
