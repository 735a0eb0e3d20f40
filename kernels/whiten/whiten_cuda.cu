// SPDX-License-Identifier: Apache-2.0
#include "kernels/codec/tile_product.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/whiten/whiten.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr int kThreads = 256;

/// y = base x + (parts diag(gains)) U^T.
template <class T>
__global__ void __launch_bounds__(kProductThreads, 3)
    spread(Matrix<const T> x, Matrix<const float> parts, Matrix<const float> basis,
           const float* eigenvalues, const float* tail, Matrix<T> y, std::int64_t rows, bool undo) {
  const float rest = tail[0], base = numeric::whitening_power(rest, undo);
  tile_product<64, true, true>(
      std::int64_t{blockIdx.y} * 64, std::int64_t{blockIdx.x} * 64, rows, y.columns, basis.columns,
      [&](std::int64_t i, std::int64_t k) {
        return parts(i, k) * numeric::whitening_gain(eigenvalues[k], rest, undo);
      },
      [&](std::int64_t k, std::int64_t j) { return basis(j, k); },
      [&](std::int64_t i, std::int64_t j, float sum) {
        y(i, j) = T(base * static_cast<float>(x(i, j)) + sum);
      });
}

template <class T>
__global__ void __launch_bounds__(kProductThreads)
    statistics(Matrix<const T> x, const float* decay, Matrix<float> a, std::int64_t tokens) {
  const float keep = decay[0];
  tile_product<64, false, false>(
      std::int64_t{blockIdx.y} * 64, std::int64_t{blockIdx.x} * 64, a.columns, a.columns, tokens,
      [&](std::int64_t i, std::int64_t k) { return static_cast<float>(x(k, i)); },
      [&](std::int64_t k, std::int64_t j) { return static_cast<float>(x(k, j)); },
      [&](std::int64_t i, std::int64_t j, float sum) {
        a(i, j) = numeric::running_mean(a(i, j), keep, sum, static_cast<float>(tokens));
      });
}

/// Block k: u_k^T (A u_k).
__global__ void __launch_bounds__(kThreads) quotients(Matrix<const float> u, Matrix<const float> au,
                                                      float* eigenvalues, std::int64_t columns) {
  __shared__ float scratch[32];
  float sum = 0;
  for (std::int64_t i = threadIdx.x; i < columns; i += kThreads)
    sum += u(i, blockIdx.x) * au(i, blockIdx.x);
  sum = block_sum(sum, scratch);
  if (threadIdx.x == 0) eigenvalues[blockIdx.x] = sum;
}
/// One block.
__global__ void __launch_bounds__(kThreads)
    find_tail(Matrix<const float> a, const float* eigenvalues, float* tail, int rank) {
  __shared__ float scratch[32];
  float trace = 0, known = 0;
  for (std::int64_t i = threadIdx.x; i < a.columns; i += kThreads) trace += a(i, i);
  for (int k = static_cast<int>(threadIdx.x); k < rank; k += kThreads) known += eigenvalues[k];
  trace = block_sum(trace, scratch);
  known = block_sum(known, scratch);
  if (threadIdx.x == 0)
    tail[0] = numeric::whitening_tail(trace, known, static_cast<float>(a.columns),
                                      static_cast<float>(rank));
}

template <class T>
void launch_map(const Call& call, Stream stream, bool undo) {
  const std::int64_t rows = call["rows"], columns = call["columns"], rank = call["rank"];
  const float* basis = call.at<float>(1);
  float* parts = call.at<float>(5);
  launch_times_thin(call.at<const T>(0), basis, parts, rows, columns, rank, stream);
  launch(spread<T>, tiles_for(rows, columns, 64), kProductThreads, 0, stream,
         Matrix<const T>{call.at<T>(0), columns}, Matrix<const float>{parts, rank},
         Matrix<const float>{basis, rank}, call.at<float>(2), call.at<float>(3),
         Matrix<T>{call.at<T>(4), columns}, rows, undo);
}
template <class T>
void launch_statistics(const Call& call, Stream stream) {
  const std::int64_t columns = call["columns"];
  launch(statistics<T>, tiles_for(columns, columns, 64), kProductThreads, 0, stream,
         Matrix<const T>{call.at<T>(0), columns}, call.at<float>(1),
         Matrix<float>{call.at<float>(2), columns}, call["tokens"]);
}

}  // namespace

void whiten_encode(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_map, s, false); }
void whiten_decode(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_map, s, true); }
void whiten_statistics(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_statistics, s); }
void whiten_eigenvalues(const Call& call, Stream stream) {
  const std::int64_t columns = call["columns"], rank = call["rank"];
  const float *a = call.at<float>(0), *u = call.at<float>(1);
  float *eigenvalues = call.at<float>(2), *au = call.at<float>(4);
  launch_times_thin(a, u, au, columns, columns, rank, stream);
  launch(quotients, static_cast<unsigned>(rank), kThreads, 0, stream, Matrix<const float>{u, rank},
         Matrix<const float>{au, rank}, eigenvalues, columns);
  launch(find_tail, 1, kThreads, 0, stream, Matrix<const float>{a, columns}, eigenvalues,
         call.at<float>(3), static_cast<int>(rank));
}

}  // namespace paceline::kernels::PACELINE_TARGET
