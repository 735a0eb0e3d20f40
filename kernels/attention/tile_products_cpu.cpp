// SPDX-License-Identifier: Apache-2.0
// The same loops compiled for any x86-64 and for AVX2 with FMA, chosen when the program runs.
#include <algorithm>

#include "kernels/attention/tile_products.hpp"

namespace paceline::kernels {
namespace {

/// Loads and stores need no alignment.
using Vector [[gnu::vector_size(32), gnu::aligned(4), gnu::may_alias]] = float;
constexpr int kLanes = 8;

/// Rows x Vectors accumulators stay in registers.
template <int Rows, int Vectors>
[[gnu::always_inline]] inline void product_block(const TileProduct& p, int m, int n) {
  Vector sums[Rows][Vectors];
  float* const c = p.c + m * p.c_row + n;
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Vectors; ++j)
      sums[i][j] =
          p.add ? *reinterpret_cast<const Vector*>(c + i * p.c_row + j * kLanes) : Vector{};
  }
  const float *a = p.a + m * p.a_row, *b = p.b + n;
  for (int k = 0; k < p.k; ++k, a += p.a_column, b += p.b_row) {
    Vector factors[Vectors];
    for (int j = 0; j < Vectors; ++j) factors[j] = *reinterpret_cast<const Vector*>(b + j * kLanes);
    for (int i = 0; i < Rows; ++i) {
      for (int j = 0; j < Vectors; ++j) sums[i][j] += a[i * p.a_row] * factors[j];
    }
  }
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < Vectors; ++j)
      *reinterpret_cast<Vector*>(c + i * p.c_row + j * kLanes) = sums[i][j];
  }
}

template <int Rows, int Vectors>
[[gnu::always_inline]] inline void product(const TileProduct& p) {
  static_assert(kTileWidth % (Vectors * kLanes) == 0);
  for (int n = 0; n < p.n; n += Vectors * kLanes) {
    for (int m = 0; m < p.m; m += Rows) product_block<Rows, Vectors>(p, m, n);
  }
}

/// Sets what a row's span does not reach.
[[gnu::always_inline]] inline void mask(float* row, int columns, int first_key, Span span,
                                        float value) {
  std::fill(row, row + std::clamp(span.begin - first_key, 0, columns), value);
  std::fill(row + std::clamp(span.end - first_key, 0, columns), row + columns, value);
}

[[gnu::always_inline]] inline void softmax(const SoftmaxTile& t) {
  for (int i = 0; i < t.rows; ++i) {
    float* const row = t.scores + i * t.row;
    mask(row, t.columns, t.first_key, t.spans[i], -INFINITY);
    Vector tops = Vector{} + t.maximum[i], parts{};
    for (int k = 0; k < t.columns; k += kLanes) {
      const Vector x = *reinterpret_cast<const Vector*>(row + k);
      tops = x > tops ? x : tops;
    }
    const float old = t.maximum[i];
    for (int k = 0; k < kLanes; ++k) t.maximum[i] = std::max(t.maximum[i], tops[k]);
    const float shift = softmax_shift(t.maximum[i], 1);
    for (int k = 0; k < t.columns; ++k) row[k] = exp2_of(row[k] - shift);
    for (int k = 0; k < t.columns; k += kLanes) parts += *reinterpret_cast<const Vector*>(row + k);
    const float factor = softmax_rescale(old, shift, 1);
    t.sum[i] *= factor;
    for (int k = 0; k < kLanes; ++k) t.sum[i] += parts[k];
    if (factor == 1) continue;
    for (int k = 0; k < t.width; ++k) t.sums[i * t.width + k] *= factor;
  }
}

[[gnu::always_inline]] inline void gradient(const GradientTile& t) {
  for (int i = 0; i < t.rows; ++i) {
    float *const p = t.scores + i * t.row, *const d = t.gradients + i * t.row;
    const float shift = t.lse[i] * kLog2E, delta = t.delta[i];
    for (int k = 0; k < t.columns; ++k) p[k] = exp2_of(p[k] - shift);
    for (int k = 0; k < t.columns; ++k) d[k] = score_gradient(p[k], d[k], delta);
    mask(p, t.columns, t.first_key, t.spans[i], 0);
    mask(d, t.columns, t.first_key, t.spans[i], 0);
  }
}

// 16 registers of 4 lanes, of 8 lanes.
constexpr TileProducts kPlain{[](const TileProduct& p) { product<4, 1>(p); },
                              [](const SoftmaxTile& t) { softmax(t); },
                              [](const GradientTile& t) { gradient(t); }};
#ifdef __x86_64__
#define PACELINE_AVX2 [[gnu::target("avx2,fma")]]
PACELINE_AVX2 void product_avx2(const TileProduct& p) { product<6, 2>(p); }
PACELINE_AVX2 void softmax_avx2(const SoftmaxTile& t) { softmax(t); }
PACELINE_AVX2 void gradient_avx2(const GradientTile& t) { gradient(t); }
constexpr TileProducts kAvx2{product_avx2, softmax_avx2, gradient_avx2};
#endif

}  // namespace

const TileProducts& tile_products() {
#ifdef __x86_64__
  static const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx2) return kAvx2;
#endif
  return kPlain;
}

}  // namespace paceline::kernels
