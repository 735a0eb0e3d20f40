// SPDX-License-Identifier: Apache-2.0
#include "kernels/codec/tile_product.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/low_rank/low_rank.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr int kThreads = 256;
constexpr int kMaxRank = static_cast<int>(numeric::kMaxRank);

template <class T>
__global__ void __launch_bounds__(kProductThreads)
    back_project(Matrix<const T> m, Matrix<const float> p, Matrix<float> q, std::int64_t rows) {
  tile_product<32, false, false>(
      std::int64_t{blockIdx.y} * 32, std::int64_t{blockIdx.x} * 32, m.columns, q.columns, rows,
      [&](std::int64_t i, std::int64_t k) { return static_cast<float>(m(k, i)); },
      [&](std::int64_t k, std::int64_t j) { return p(k, j); },
      [&](std::int64_t i, std::int64_t j, float sum) { q(i, j) = sum; });
}
template <class T>
__global__ void __launch_bounds__(kProductThreads)
    decode(Matrix<const float> p, Matrix<const float> q, Matrix<T> y, std::int64_t rows) {
  tile_product<64, true, true>(
      std::int64_t{blockIdx.y} * 64, std::int64_t{blockIdx.x} * 64, rows, y.columns, p.columns,
      [&](std::int64_t i, std::int64_t k) { return p(i, k); },
      [&](std::int64_t k, std::int64_t j) { return q(j, k); },
      [&](std::int64_t i, std::int64_t j, float sum) { y(i, j) = T(sum); });
}

/// Elements of P^T P that one block of `gram` sums: 16 per thread.
constexpr int kPairs = 16, kPairsPerBlock = kThreads * kPairs;

/// Block (x, y): the y-th elements of P^T P over the x-th share of the rows.
__global__ void __launch_bounds__(kThreads)
    gram(const float* p, double* parts, std::int64_t rows, int rank) {
  constexpr int kRows = 32;
  __shared__ float tile[kRows * kMaxRank];
  const int all = rank * rank;
  const int first = static_cast<int>(blockIdx.y) * kPairsPerBlock + static_cast<int>(threadIdx.x);
  double sums[kPairs] = {};
  for (std::int64_t start = std::int64_t{blockIdx.x} * kRows; start < rows;
       start += std::int64_t{gridDim.x} * kRows) {
    const auto size = static_cast<int>(start + kRows <= rows ? kRows : rows - start);
    for (int i = static_cast<int>(threadIdx.x); i < size * rank; i += kThreads)
      tile[i] = p[start * rank + i];
    __syncthreads();
    PACELINE_UNROLL
    for (int k = 0; k < kPairs; ++k) {
      const int pair = first + k * kThreads, a = pair / rank, b = pair % rank;
      if (pair >= all || a > b) continue;
      for (int row = 0; row < size; ++row)
        sums[k] += double{tile[row * rank + a]} * double{tile[row * rank + b]};
    }
    __syncthreads();
  }
  PACELINE_UNROLL
  for (int k = 0; k < kPairs; ++k) {
    const int pair = first + k * kThreads;
    if (pair < all) parts[std::int64_t{blockIdx.x} * all + pair] = sums[k];
  }
}

/// One block: the Cholesky factor R of the sum of the parts, in the upper triangle of shared
/// memory, then R^-1, transposed in the lower one, column j by thread j.
__global__ void __launch_bounds__(kThreads)
    invert_factor(const double* parts, int part_count, float* inverse, int rank) {
  double* g = dynamic_shared<double>();
  __shared__ double whole[kMaxRank], pivots[kMaxRank];
  const int thread = static_cast<int>(threadIdx.x), all = rank * rank;
  for (int i = thread; i < all; i += kThreads) {
    double sum = 0;
    for (int part = 0; part < part_count; ++part) sum += parts[part * all + i];
    g[i] = sum;
  }
  __syncthreads();
  if (thread < rank) whole[thread] = g[thread * rank + thread];
  __syncthreads();
  for (int j = 0; j < rank; ++j) {
    if (thread == 0) pivots[j] = numeric::pivot_inverse(g[j * rank + j], whole[j]);
    __syncthreads();
    for (int k = j + 1 + thread; k < rank; k += kThreads) g[j * rank + k] *= pivots[j];
    __syncthreads();
    for (int i = j + 1 + thread / 32; i < rank; i += kThreads / 32) {
      for (int k = i + thread % 32; k < rank; k += 32)
        g[i * rank + k] -= g[j * rank + i] * g[j * rank + k];
    }
    __syncthreads();
  }
  if (thread >= rank) return;
  const int j = thread;
  for (int i = rank - 1; i > j; --i) inverse[i * rank + j] = 0;
  inverse[j * rank + j] = static_cast<float>(pivots[j]);
  for (int i = j - 1; i >= 0; --i) {
    double sum = g[i * rank + j] * pivots[j];
    for (int k = i + 1; k < j; ++k) sum += g[i * rank + k] * g[j * rank + k];
    g[j * rank + i] = -sum * pivots[i];
    inverse[i * rank + j] = static_cast<float>(g[j * rank + i]);
  }
}

template <class T>
void launch_project(const Call& call, Stream stream) {
  launch_times_thin(call.at<const T>(0), call.at<float>(1), call.at<float>(2), call["rows"],
                    call["columns"], call["rank"], stream);
}
template <class T>
void launch_back_project(const Call& call, Stream stream) {
  const std::int64_t columns = call["columns"], rank = call["rank"];
  launch(back_project<T>, tiles_for(columns, rank, 32), kProductThreads, 0, stream,
         Matrix<const T>{call.at<T>(0), columns}, Matrix<const float>{call.at<float>(1), rank},
         Matrix<float>{call.at<float>(2), rank}, call["rows"]);
}
template <class T>
void launch_decode(const Call& call, Stream stream) {
  const std::int64_t rows = call["rows"], columns = call["columns"], rank = call["rank"];
  launch(decode<T>, tiles_for(rows, columns, 64), kProductThreads, 0, stream,
         Matrix<const float>{call.at<float>(0), rank}, Matrix<const float>{call.at<float>(1), rank},
         Matrix<T>{call.at<T>(2), columns}, rows);
}

}  // namespace

void low_rank_project(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_project, s); }
void low_rank_back_project(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_back_project, s); }
void low_rank_decode(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_decode, s); }

void low_rank_orthogonalise(const Call& call, Stream stream) {
  const std::int64_t rows = call["rows"];
  const auto rank = static_cast<int>(call["rank"]), all = rank * rank;
  float *p = call.at<float>(0), *other = nullptr;
  auto* parts = call.at<double>(1);
  auto* inverse = reinterpret_cast<float*>(parts + kGramParts * all);
  other = inverse + all;
  const std::int64_t shares = (rows + 31) / 32;
  const auto part_count = static_cast<unsigned>(shares < kGramParts ? shares : kGramParts);
  const auto groups = static_cast<unsigned>((all + kPairsPerBlock - 1) / kPairsPerBlock);
  for (const bool back : {false, true}) {
    const float* from = back ? other : p;
    launch(gram, dim3(part_count, groups), kThreads, 0, stream, from, parts, rows, rank);
    launch(invert_factor, 1, kThreads, static_cast<std::size_t>(all) * sizeof(double), stream,
           parts, static_cast<int>(part_count), inverse, rank);
    launch_times_thin(from, inverse, back ? p : other, rows, rank, rank, stream);
  }
}

}  // namespace paceline::kernels::PACELINE_TARGET
