// SPDX-License-Identifier: Apache-2.0
// Forward attention on tensor cores: arXiv:2307.08691, algorithm 1. A block has 128 queries, a warp
// 32 of them, so that what it loads of K and V serves two row tiles. While K Q^T is computed V
// arrives, while P V is computed the next K does.
#include "kernels/attention/flash.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr int kThreads = 128, kRowTiles = 2, kQueries = 128, kKeys = 64;
constexpr int kColumnTiles = kKeys / 8;
/// Whether the last span is read where rows that are not there repeat it: on sm_80 that saves the
/// one register that would spill, on others it costs one.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr bool kSparesRows = true;
#else
constexpr bool kSparesRows = false;
#endif

template <class T, int Columns>
constexpr std::size_t kShared = sizeof(T) * Columns*(kQueries + 2 * kKeys) + sizeof(Span) * kQueries
                                + sizeof(std::int64_t);

/// Of a lane's rows 16 m + g and 16 m + 8 + g.
struct RowStates {
  float maximum[kRowTiles][2], sum[kRowTiles][2];
};

/// Largest of a row's scores, over the four lanes that share it.
__device__ float row_maximum(const float (&scores)[kColumnTiles][4], int half, float maximum) {
  PACELINE_UNROLL
  for (int n = 0; n < kColumnTiles; ++n)
    maximum = fmaxf(maximum, fmaxf(scores[n][2 * half], scores[n][2 * half + 1]));
  maximum = fmaxf(maximum, __shfl_xor_sync(0xffffffffU, maximum, 1));
  return fmaxf(maximum, __shfl_xor_sync(0xffffffffU, maximum, 2));
}

/// Moves the maxima on to a tile's scores and rescales what is there of out and the sums. Maxima
/// settle after a few tiles, and then there is nothing to do.
template <int Columns>
__device__ void raise_maxima(const float (&scores)[kRowTiles][kColumnTiles][4], RowStates& rows,
                             float (&out)[kRowTiles][Columns / 8][4], float scale_2) {
  float factors[kRowTiles][2];
  bool raised = false;
  PACELINE_UNROLL
  for (int m = 0; m < kRowTiles; ++m) {
    PACELINE_UNROLL
    for (int half = 0; half < 2; ++half) {
      const float old = rows.maximum[m][half], maximum = row_maximum(scores[m], half, old);
      factors[m][half] = softmax_rescale(old, softmax_shift(maximum, scale_2), scale_2);
      rows.maximum[m][half] = maximum;
      raised = raised || maximum != old;
    }
  }
  if (__any_sync(0xffffffffU, raised ? 1 : 0) == 0) return;
  PACELINE_UNROLL
  for (int m = 0; m < kRowTiles; ++m) {
    PACELINE_UNROLL
    for (int half = 0; half < 2; ++half) {
      rows.sum[m][half] *= factors[m][half];
      PACELINE_UNROLL
      for (int n = 0; n < Columns / 8; ++n) {
        out[m][n][2 * half] *= factors[m][half];
        out[m][n][2 * half + 1] *= factors[m][half];
      }
    }
  }
}

/// Scores become numerators and are summed, over a lane's own columns until the end.
__device__ inline void exponentiate(float (&scores)[kRowTiles][kColumnTiles][4], RowStates& rows,
                                    float scale_2) {
  PACELINE_UNROLL
  for (int m = 0; m < kRowTiles; ++m) {
    PACELINE_UNROLL
    for (int half = 0; half < 2; ++half) {
      const float shift = softmax_shift(rows.maximum[m][half], scale_2);
      PACELINE_UNROLL
      for (int n = 0; n < kColumnTiles; ++n) {
        PACELINE_UNROLL
        for (int i = 2 * half; i < 2 * half + 2; ++i) {
          scores[m][n][i] = probability(scores[m][n][i], shift, scale_2);
          rows.sum[m][half] += scores[m][n][i];
        }
      }
    }
  }
}

/// Adds the columns of the four lanes of a row; writes lse; leaves 1 / sum in sum.
__device__ void finish(RowStates& rows, float* lse, int count, float scale_2) {
  PACELINE_UNROLL
  for (int m = 0; m < kRowTiles; ++m) {
    PACELINE_UNROLL
    for (int half = 0; half < 2; ++half) {
      float sum = rows.sum[m][half];
      sum += __shfl_xor_sync(0xffffffffU, sum, 1);
      sum += __shfl_xor_sync(0xffffffffU, sum, 2);
      rows.sum[m][half] = inverse_sum(sum);
      const int row = m * 16 + half * 8 + lane_index() / 4;
      if (lane_index() % 4 == 0 && row < count)
        lse[row] = log_sum_exp(softmax_shift(rows.maximum[m][half], scale_2), sum);
    }
  }
}

template <class T, int Columns>
__global__ void __launch_bounds__(kThreads, 2) flash_forward(ForwardArguments<T> arguments) {
  const Attention& a = arguments.a;
  T* const q = dynamic_shared<T>();
  T *const k = q + kQueries * Columns, *const v = k + kKeys * Columns;
  Span* const spans = reinterpret_cast<Span*>(v + kKeys * Columns);
  const BlockPlace at = place_of_block(a.queries, kQueries, a.heads, true);
  const auto span_of = [&](int row) {
    return visible_keys(a, arguments.offsets, at.b, at.first + row);
  };
  const int begin = span_of(0).begin, end = span_of(at.rows - 1).end;
  // Where the head's keys begin in k and v: in shared memory, as registers are scarce.
  std::int64_t* const keys_at = reinterpret_cast<std::int64_t*>(spans + kQueries);
  if (thread_index() == 0) *keys_at = a.key_at(at.b, 0, at.head / a.group());
  __syncthreads();
  const auto load_keys = [&](T* tile, const T* matrix, int key) {
    const T* from = matrix + (*keys_at + key * a.key_stride());
    load_tile<T, kKeys, Columns, kThreads>(tile, from, a.key_stride(), a.keys - key);
  };

  load_tile<T, kQueries, Columns, kThreads>(q, arguments.q + a.query_at(at.b, at.first, at.head),
                                            a.query_stride(), at.rows);
  if (begin < end) load_keys(k, arguments.k, begin);
  cp_async_commit();
  spans[thread_index()] = span_of(thread_index() < at.rows ? thread_index() : at.rows - 1);

  float out[kRowTiles][Columns / 8][4] = {};
  RowStates rows;
  for (int i = 0; i < 2 * kRowTiles; ++i) {
    rows.maximum[i / 2][i % 2] = -INFINITY;
    rows.sum[i / 2][i % 2] = 0;
  }
  const int warp_row = warp_index() * kRowTiles * 16;
  for (int key = begin; key < end; key += kKeys) {
    cp_async_wait<0>();
    __syncthreads();  // K is here, and nobody reads the last V any more
    load_keys(v, arguments.v, key);
    cp_async_commit();
    float scores[kRowTiles][kColumnTiles][4] = {};
    multiply_transposed<T, kRowTiles, kColumnTiles, Columns, 2>(scores, q + warp_row * Columns, k);
    if (key < spans[kSparesRows ? kQueries - 1 : at.rows - 1].begin || key + kKeys > spans[0].end)
      mask_scores(scores, spans + warp_row, key);
    cp_async_wait<0>();
    __syncthreads();  // V is here, and nobody reads K any more
    if (key + kKeys < end) load_keys(k, arguments.k, key + kKeys);
    cp_async_commit();
    raise_maxima<Columns>(scores, rows, out, arguments.scale_2);
    exponentiate(scores, rows, arguments.scale_2);
    std::uint32_t p[kRowTiles][kColumnTiles / 2][4];
    round_fragments<T>(p, scores);
    multiply_fragments<T, kRowTiles, kColumnTiles / 2, Columns>(out, p, v);
  }
  cp_async_wait<0>();
  __syncthreads();  // of a tile that sees nothing, Q was still under way
  const BlockPlace to = place_of_block(a.queries, kQueries, a.heads, true);
  const int first = to.first + warp_row, count = to.rows - warp_row;
  finish(rows, arguments.lse + a.lse_at(to.b, first, to.head), count, arguments.scale_2);
  store_rows<T, kRowTiles, Columns>(arguments.out + a.query_at(to.b, first, to.head),
                                    a.query_stride(), count, out, rows.sum, q + warp_row * Columns);
}

template <class T, int Columns>
void start(const Call& call, Stream stream) {
  const ForwardArguments<T> arguments = forward_arguments<T>(call);
  const Attention& a = arguments.a;
  launch(flash_forward<T, Columns>, block_count(a.queries, kQueries, a.heads, a.batch), kThreads,
         kShared<T, Columns>, stream, arguments);
}

}  // namespace

void attention_flash_forward(const Call& call, Stream stream) {
  start_flash(call, [&](auto type, auto columns) {
    start<decltype(type), decltype(columns)::value>(call, stream);
  });
}

}  // namespace paceline::kernels::PACELINE_TARGET
