// SPDX-License-Identifier: Apache-2.0
// Backward attention on tensor cores: arXiv:2307.08691, algorithm 2, with its loops split in two
// kernels, so that every sum stays in the registers of one warp and results are the same in every
// run: no atomics. The price is that S and dP are computed twice, 7 products instead of 5.
//   query_gradient  a block has 128 queries and goes over keys: delta, dQ
//   key_gradient    a block has 128 keys and goes over the queries of all heads that read them,
//   with
//                   scores transposed: dV, dK
#include "kernels/attention/flash.hpp"
#include "kernels/packs.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

/// Both kernels: rows of a block, and how they share them.
constexpr int kRows = 128;

template <int Columns>
struct QueryTiles {
  static constexpr int kWarps = 4, kRowTiles = 2, kThreads = 32 * kWarps;
  static constexpr int kKeys = Columns == 64 ? 64 : 32, kColumnTiles = kKeys / 8;
  template <class T>
  static constexpr std::size_t kShared = sizeof(T) * Columns*(2 * kRows + 2 * kKeys) +
                                         sizeof(Span) * kRows;
};

/// delta = rowsum(dO * O) of a block's rows, zero below them: Columns / 8 lanes share a row.
template <class T, int Columns, int Threads>
__device__ void sum_products(float* delta, const T* dout, const T* out, std::int64_t stride,
                             int rows) {
  constexpr int kRow = Columns / kChunk;
  for (int i = 0; i < kRows * kRow / Threads; ++i) {
    const int at = i * Threads + thread_index(), row = at / kRow;
    const std::int64_t from = row * stride + at % kRow * kChunk;
    float sum = 0;
    if (row < rows) {
      const Vector<T, kChunk> x = load<kChunk>(dout + from), y = load<kChunk>(out + from);
      PACELINE_UNROLL
      for (int k = 0; k < kChunk; ++k)
        sum += static_cast<float>(x.at[k]) * static_cast<float>(y.at[k]);
    }
    PACELINE_UNROLL
    for (int step = kRow / 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, step);
    if (at % kRow == 0) delta[row] = sum;
  }
}

template <class T, int Columns>
__global__ void __launch_bounds__(QueryTiles<Columns>::kThreads, 2)
    query_gradient(BackwardArguments<T> arguments) {
  using Tiles = QueryTiles<Columns>;
  constexpr int kKeys = Tiles::kKeys, kRowTiles = Tiles::kRowTiles,
                kColumnTiles = Tiles::kColumnTiles;
  const Attention& a = arguments.a;
  T* const q = dynamic_shared<T>();
  T *const dout = q + kRows * Columns, *const k = dout + kRows * Columns,
           *const v = k + kKeys * Columns;
  Span* const spans = reinterpret_cast<Span*>(v + kKeys * Columns);
  float* const deltas = reinterpret_cast<float*>(k);  // until K comes
  const BlockPlace at = place_of_block(a.queries, kRows, a.heads, true);
  const auto span_of = [&](int row) {
    return visible_keys(a, arguments.offsets, at.b, at.first + row);
  };
  const int begin = span_of(0).begin, end = span_of(at.rows - 1).end;
  std::int64_t from = a.key_at(at.b, begin, at.head / a.group());  // in k and v
  const auto load_keys = [&](T* tile, const T* matrix, int key) {
    load_tile<T, kKeys, Columns, Tiles::kThreads>(tile, matrix + from, a.key_stride(),
                                                  a.keys - key);
  };

  const std::int64_t rows_at = a.query_at(at.b, at.first, at.head);
  load_tile<T, kRows, Columns, Tiles::kThreads>(q, arguments.q + rows_at, a.query_stride(),
                                                at.rows);
  load_tile<T, kRows, Columns, Tiles::kThreads>(dout, arguments.dout + rows_at, a.query_stride(),
                                                at.rows);
  if (begin < end) load_keys(v, arguments.v, begin);
  cp_async_commit();
  spans[thread_index()] = thread_index() < at.rows ? span_of(thread_index()) : Span{};
  sum_products<T, Columns, Tiles::kThreads>(deltas, arguments.dout + rows_at,
                                            arguments.out + rows_at, a.query_stride(), at.rows);
  __syncthreads();
  const std::int64_t lse_at = a.lse_at(at.b, at.first, at.head);
  if (thread_index() < at.rows) arguments.delta[lse_at + thread_index()] = deltas[thread_index()];
  const int warp_row = warp_index() * kRowTiles * 16;
  float shift[kRowTiles][2], delta[kRowTiles][2];
  for (int i = 0; i < 2 * kRowTiles; ++i) {
    const int row = warp_row + i * 8 + lane_index() / 4;
    shift[i / 2][i % 2] = row < at.rows ? probability_shift(arguments.lse[lse_at + row]) : 0.0F;
    delta[i / 2][i % 2] = deltas[row];
  }

  float dq[kRowTiles][Columns / 8][4] = {};
  for (int key = begin; key < end; key += kKeys) {
    cp_async_wait<0>();
    __syncthreads();  // V is here, and nobody reads the last K or the deltas any more
    load_keys(k, arguments.k, key);
    cp_async_commit();
    from += kKeys * a.key_stride();
    float gradients[kRowTiles][kColumnTiles][4] = {}, scores[kRowTiles][kColumnTiles][4] = {};
    multiply_transposed<T, kRowTiles, kColumnTiles, Columns>(gradients, dout + warp_row * Columns,
                                                             v);
    cp_async_wait<0>();
    __syncthreads();  // K is here, and nobody reads V any more
    if (key + kKeys < end) load_keys(v, arguments.v, key + kKeys);
    cp_async_commit();
    multiply_transposed<T, kRowTiles, kColumnTiles, Columns>(scores, q + warp_row * Columns, k);
    if (key < spans[at.rows - 1].begin || key + kKeys > spans[0].end)
      mask_scores(scores, spans + warp_row, key);
    PACELINE_UNROLL
    for (int i = 0; i < kRowTiles * kColumnTiles * 4; ++i) {
      const int m = i / (kColumnTiles * 4), n = i / 4 % kColumnTiles, half = i % 4 / 2;
      const float p = probability(scores[m][n][i % 4], shift[m][half], arguments.scale_2);
      float& gradient = gradients[m][n][i % 4];
      gradient = score_gradient(p, gradient, delta[m][half]);
    }
    std::uint32_t ds[kRowTiles][kColumnTiles / 2][4];
    round_fragments<T>(ds, gradients);
    multiply_fragments<T, kRowTiles, kColumnTiles / 2, Columns>(dq, ds, k);
  }
  cp_async_wait<0>();
  __syncthreads();  // of a tile that sees nothing, Q was still under way
  const BlockPlace to = place_of_block(a.queries, kRows, a.heads, true);
  const float factors[kRowTiles][2] = {{arguments.scale, arguments.scale},
                                       {arguments.scale, arguments.scale}};
  store_rows<T, kRowTiles, Columns>(arguments.dq + a.query_at(to.b, to.first + warp_row, to.head),
                                    a.query_stride(), to.rows - warp_row, dq, factors,
                                    q + warp_row * Columns);
}

template <int Columns>
struct KeyTiles {
  static constexpr int kWarps = Columns == 64 ? 4 : 8, kRowTiles = kRows / 16 / kWarps;
  static constexpr int kThreads = 32 * kWarps, kBlocks = Columns == 64 ? 2 : 1;
  static constexpr int kQueries = Columns == 64 ? 32 : 64, kColumnTiles = kQueries / 8;
  template <class T>
  static constexpr std::size_t kShared = sizeof(T) * Columns*(2 * kRows + 4 * kQueries) +
                                         sizeof(float) * 4 * kQueries + sizeof(Span) * kRows;
};

/// What arrives for one tile of queries.
template <class T>
struct QueryBuffer {
  T *q, *dout;
  float *lse, *delta;
};

/// P and dS of transposed scores: columns are queries.
template <int M, int N>
__device__ void differentiate(float (&scores)[M][N][4], float (&gradients)[M][N][4],
                              const float* lse, const float* deltas, float scale_2) {
  PACELINE_UNROLL
  for (int n = 0; n < N; ++n) {
    PACELINE_UNROLL
    for (int i = 0; i < 2; ++i) {
      const int column = n * 8 + lane_index() % 4 * 2 + i;
      const float shift = probability_shift(lse[column]), delta = deltas[column];
      PACELINE_UNROLL
      for (int m = 0; m < M; ++m) {
        PACELINE_UNROLL
        for (int at = i; at < 4; at += 2) {
          scores[m][n][at] = probability(scores[m][n][at], shift, scale_2);
          gradients[m][n][at] = score_gradient(scores[m][n][at], gradients[m][n][at], delta);
        }
      }
    }
  }
}

template <class T, int Columns>
__global__ void __launch_bounds__(KeyTiles<Columns>::kThreads, KeyTiles<Columns>::kBlocks)
    key_gradient(BackwardArguments<T> arguments) {
  using Tiles = KeyTiles<Columns>;
  constexpr int kQueries = Tiles::kQueries, kRowTiles = Tiles::kRowTiles,
                kColumnTiles = Tiles::kColumnTiles;
  const Attention& a = arguments.a;
  T* const k = dynamic_shared<T>();
  T *const v = k + kRows * Columns, *const queries = v + kRows * Columns;
  float* const numbers = reinterpret_cast<float*>(queries + 4 * kQueries * Columns);
  Span* const spans = reinterpret_cast<Span*>(numbers + 4 * kQueries);
  const auto buffer = [&](int i) {
    T* const tiles = queries + i % 2 * 2 * kQueries * Columns;
    float* const rows = numbers + i % 2 * 2 * kQueries;
    return QueryBuffer<T>{tiles, tiles + kQueries * Columns, rows, rows + kQueries};
  };
  const BlockPlace at = place_of_block(a.keys, kRows, a.kv_heads, false);
  const auto span_of = [&](int row) {
    return visible_queries(a, arguments.offsets, at.b, at.first + row);
  };
  const int begin = span_of(0).begin, end = span_of(at.rows - 1).end;
  const int tiles = begin < end ? (end - begin + kQueries - 1) / kQueries : 0;
  const auto load_queries = [&](int i) {  // tile i % tiles of head i / tiles of the group
    const int head = at.head * a.group() + i / tiles, first = begin + i % tiles * kQueries;
    const QueryBuffer<T> to = buffer(i);
    const std::int64_t from = a.query_at(at.b, first, head);
    const int rows = a.queries - first;
    load_tile<T, kQueries, Columns, Tiles::kThreads>(to.q, arguments.q + from, a.query_stride(),
                                                     rows);
    load_tile<T, kQueries, Columns, Tiles::kThreads>(to.dout, arguments.dout + from,
                                                     a.query_stride(), rows);
    const int row = thread_index() % kQueries;
    const std::int64_t number = a.lse_at(at.b, first, head) + row;
    if (thread_index() < kQueries) cp_async<4>(to.lse + row, arguments.lse + number, row < rows);
    if (thread_index() / kQueries == 1)
      cp_async<4>(to.delta + row, arguments.delta + number, row < rows);
  };

  const std::int64_t rows_at = a.key_at(at.b, at.first, at.head);
  load_tile<T, kRows, Columns, Tiles::kThreads>(k, arguments.k + rows_at, a.key_stride(), at.rows);
  load_tile<T, kRows, Columns, Tiles::kThreads>(v, arguments.v + rows_at, a.key_stride(), at.rows);
  const int count = tiles * a.group();
  if (count > 0) load_queries(0);
  cp_async_commit();
  if (thread_index() < kRows)
    spans[thread_index()] = thread_index() < at.rows ? span_of(thread_index()) : Span{};

  const int warp_row = warp_index() * kRowTiles * 16;
  float dk[kRowTiles][Columns / 8][4] = {}, dv[kRowTiles][Columns / 8][4] = {};
  for (int i = 0; i < count; ++i) {
    cp_async_wait<0>();
    __syncthreads();  // tile i is here, and nobody reads tile i - 1 any more
    if (i + 1 < count) load_queries(i + 1);
    cp_async_commit();
    const QueryBuffer<T> tile = buffer(i);
    float scores[kRowTiles][kColumnTiles][4] = {}, gradients[kRowTiles][kColumnTiles][4] = {};
    multiply_transposed<T, kRowTiles, kColumnTiles, Columns>(scores, k + warp_row * Columns,
                                                             tile.q);
    multiply_transposed<T, kRowTiles, kColumnTiles, Columns>(gradients, v + warp_row * Columns,
                                                             tile.dout);
    const int first = begin + i % tiles * kQueries;
    if (first < spans[at.rows - 1].begin || first + kQueries > spans[0].end)
      mask_scores(scores, spans + warp_row, first);
    differentiate(scores, gradients, tile.lse, tile.delta, arguments.scale_2);
    std::uint32_t rounded[kRowTiles][kColumnTiles / 2][4];
    round_fragments<T>(rounded, scores);
    multiply_fragments<T, kRowTiles, kColumnTiles / 2, Columns>(dv, rounded, tile.dout);
    round_fragments<T>(rounded, gradients);
    multiply_fragments<T, kRowTiles, kColumnTiles / 2, Columns>(dk, rounded, tile.q);
  }
  cp_async_wait<0>();
  __syncthreads();  // of a tile that nobody sees, K and V were still under way
  const BlockPlace to = place_of_block(a.keys, kRows, a.kv_heads, false);
  const std::int64_t to_at = a.key_at(to.b, to.first + warp_row, to.head);
  float factors[kRowTiles][2];
  for (int i = 0; i < 2 * kRowTiles; ++i) factors[i / 2][i % 2] = arguments.scale;
  store_rows<T, kRowTiles, Columns>(arguments.dk + to_at, a.key_stride(), to.rows - warp_row, dk,
                                    factors, k + warp_row * Columns);
  for (int i = 0; i < 2 * kRowTiles; ++i) factors[i / 2][i % 2] = 1;
  store_rows<T, kRowTiles, Columns>(arguments.dv + to_at, a.key_stride(), to.rows - warp_row, dv,
                                    factors, v + warp_row * Columns);
}

template <class T, int Columns>
void start(const Call& call, Stream stream) {
  const BackwardArguments<T> arguments = backward_arguments<T>(call);
  const Attention& a = arguments.a;
  launch(query_gradient<T, Columns>, block_count(a.queries, kRows, a.heads, a.batch),
         QueryTiles<Columns>::kThreads, QueryTiles<Columns>::template kShared<T>, stream,
         arguments);
  launch(key_gradient<T, Columns>, block_count(a.keys, kRows, a.kv_heads, a.batch),
         KeyTiles<Columns>::kThreads, KeyTiles<Columns>::template kShared<T>, stream, arguments);
}

}  // namespace

void attention_flash_backward(const Call& call, Stream stream) {
  start_flash(call, [&](auto type, auto columns) {
    start<decltype(type), decltype(columns)::value>(call, stream);
  });
}

}  // namespace paceline::kernels::PACELINE_TARGET
