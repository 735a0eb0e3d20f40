// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/scaled_codes.hpp"
#include "kernels/codec/device.hpp"

/// The largest magnitude of a tensor, in two steps without atomics: parts, and every block of the
/// kernel that needs it looks at all parts.
namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr int kThreads = 256;

template <class T, int N>
__device__ std::uint32_t largest_of(const Pack<T, N>& x, std::uint32_t largest) {
  for (int i = 0; i < N; ++i) {
    const std::uint32_t m = numeric::finite_magnitude(static_cast<float>(x.at[i]));
    largest = m > largest ? m : largest;
  }
  return largest;
}
/// Bit pattern of the largest finite magnitude of each block's share of a tensor.
template <class T>
__global__ void __launch_bounds__(kThreads)
    find_maxima(const T* x, std::uint32_t* maxima, std::int64_t count) {
  constexpr int kAtOnce = 16 / sizeof(T);
  __shared__ std::uint32_t scratch[32];
  const std::int64_t packs = count / kAtOnce, step = std::int64_t{gridDim.x} * kThreads;
  const std::int64_t start = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  std::uint32_t largest = 0;
  for (std::int64_t p = start; p < packs; p += step)
    largest = largest_of(pack_at<T, kAtOnce>(x, p * kAtOnce), largest);
  for (std::int64_t i = packs * kAtOnce + start; i < count; i += step) {
    const std::uint32_t m = numeric::finite_magnitude(static_cast<float>(x[i]));
    largest = m > largest ? m : largest;
  }
  largest = block_max(largest, scratch);
  if (threadIdx.x == 0) maxima[blockIdx.x] = largest;
}

/// In all threads of the block.
inline __device__ float largest_of_parts(const std::uint32_t* maxima, unsigned parts) {
  __shared__ std::uint32_t scratch[32];
  std::uint32_t largest = 0;
  for (unsigned i = threadIdx.x; i < parts; i += kThreads)
    largest = maxima[i] > largest ? maxima[i] : largest;
  return numeric::float_of(block_max(largest, scratch));
}

/// Number of parts, at most numeric::kLargestParts.
template <class T>
unsigned launch_maxima(const T* x, std::uint32_t* maxima, std::int64_t count, Stream stream) {
  const unsigned wanted = blocks_for(count, kThreads * 4 * std::int64_t{16 / sizeof(T)});
  const unsigned parts =
      wanted < numeric::kLargestParts ? wanted : unsigned{numeric::kLargestParts};
  launch(find_maxima<T>, parts, kThreads, 0, stream, x, maxima, count);
  return parts;
}

}  // namespace
}  // namespace paceline::kernels::PACELINE_TARGET
