// SPDX-License-Identifier: Apache-2.0
#include "kernels/codec/tile_product.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/vector_quantise/vector_quantise.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr int kThreads = 256;
constexpr int kRows = 32;  // of a block, and codewords compared at a time

__global__ void __launch_bounds__(kThreads)
    half_norms(Matrix<const float> codebook, float* halves, std::int64_t codewords) {
  for (std::int64_t k = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; k < codewords;
       k += std::int64_t{gridDim.x} * kThreads) {
    float sum = 0;
    for (std::int64_t d = 0; d < codebook.columns; ++d) {
      const float value = codebook(k, d);
      sum += value * value / 2;
    }
    halves[k] = sum;
  }
}

/// The nearest codewords of 32 rows. Eight threads watch a row, each every eighth codeword.
template <class T>
__global__ void __launch_bounds__(kProductThreads)
    nearest(Matrix<const T> x, Matrix<const float> codebook, const float* halves,
            std::uint32_t* indices, std::int64_t rows, std::int64_t codewords) {
  __shared__ float scores[kRows][kRows + 1];
  const std::int64_t first = std::int64_t{blockIdx.x} * kRows;
  const int row = static_cast<int>(threadIdx.x) / 8, eighth = static_cast<int>(threadIdx.x) % 8;
  float least = INFINITY;
  std::uint32_t best = 0;
  for (std::int64_t start = 0; start < codewords; start += kRows) {
    const int size = static_cast<int>(start + kRows <= codewords ? kRows : codewords - start);
    tile_product<kRows, true, true>(
        first, start, rows, codewords, x.columns,
        [&](std::int64_t i, std::int64_t d) { return static_cast<float>(x(i, d)); },
        [&](std::int64_t d, std::int64_t k) { return codebook(k, d); },
        [&](std::int64_t i, std::int64_t k, float sum) {
          scores[i - first][k - start] = halves[k] - sum;
        });
    __syncthreads();
    for (int k = eighth; first + row < rows && k < size; k += 8) {
      if (scores[row][k] < least) {
        least = scores[row][k];
        best = static_cast<std::uint32_t>(start + k);
      }
    }
    __syncthreads();
  }
  for (int step = 4; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(0xffffffffU, least, step);
    const std::uint32_t index = __shfl_xor_sync(0xffffffffU, best, step);
    if (other < least || (other == least && index < best)) {
      least = other;
      best = index;
    }
  }
  if (eighth == 0 && first + row < rows) indices[first + row] = best;
}

__global__ void __launch_bounds__(kThreads)
    pack(const std::uint32_t* indices, std::uint32_t* words, std::int64_t rows, int bits) {
  const std::int64_t total = numeric::packed_words(rows, bits);
  for (std::int64_t w = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; w < total;
       w += std::int64_t{gridDim.x} * kThreads)
    words[w] = numeric::packed_word(w, rows, bits, [&](std::int64_t i) { return indices[i]; });
}

/// 2^shift neighbouring threads per row.
template <class T>
__global__ void __launch_bounds__(kThreads)
    decode(const std::uint32_t* words, Matrix<const float> codebook, Matrix<T> y, std::int64_t rows,
           std::int64_t codewords, int bits, int shift) {
  const std::int64_t step = std::int64_t{gridDim.x} * (kThreads >> shift);
  const auto thread = static_cast<int>(threadIdx.x);
  for (std::int64_t row = std::int64_t{blockIdx.x} * (kThreads >> shift) + (thread >> shift);
       row < rows; row += step) {
    std::int64_t k = numeric::packed_number(words, row, bits);
    if (k >= codewords) k = codewords - 1;
    for (std::int64_t d = thread & ((1 << shift) - 1); d < y.columns; d += 1 << shift)
      y(row, d) = T(codebook(k, d));
  }
}

template <class T>
void launch_encode(const Call& call, Stream stream) {
  const std::int64_t rows = call["rows"], dim = call["dim"], codewords = call["codewords"];
  const int bits = numeric::index_bits(codewords);
  const Matrix<const float> codebook{call.at<float>(1), dim};
  launch(half_norms, blocks_for(codewords, kThreads), kThreads, 0, stream, codebook,
         call.at<float>(4), codewords);
  launch(nearest<T>, static_cast<unsigned>((rows + kRows - 1) / kRows), kProductThreads, 0, stream,
         Matrix<const T>{call.at<T>(0), dim}, codebook, call.at<float>(4),
         call.at<std::uint32_t>(3), rows, codewords);
  launch(pack, blocks_for(numeric::packed_words(rows, bits), kThreads), kThreads, 0, stream,
         call.at<std::uint32_t>(3), call.at<std::uint32_t>(2), rows, bits);
}
template <class T>
void launch_decode(const Call& call, Stream stream) {
  const std::int64_t rows = call["rows"], dim = call["dim"], codewords = call["codewords"];
  int shift = 0;
  while (shift < 5 && 1 << shift < dim) ++shift;
  launch(decode<T>, blocks_for(rows, kThreads >> shift), kThreads, 0, stream,
         call.at<std::uint32_t>(0), Matrix<const float>{call.at<float>(1), dim},
         Matrix<T>{call.at<T>(2), dim}, rows, codewords, numeric::index_bits(codewords), shift);
}

}  // namespace

void vector_quantise_encode(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_encode, s); }
void vector_quantise_decode(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_decode, s); }

}  // namespace paceline::kernels::PACELINE_TARGET
