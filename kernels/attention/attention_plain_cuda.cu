// SPDX-License-Identifier: Apache-2.0
// Attention without tensor cores, for every type and head_dim. A block has 32 rows, a warp 4 of
// them; tiles of 32 rows of the other side pass through shared memory as floats. Scores: a lane has
// a row of the tile. Sums: a lane has every 32nd column.
#include "kernels/attention/blocks.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps, kOwn = 4, kRows = kOwn * kWarps, kTile = 32;
constexpr int kLargestColumns = 256, kParts = kLargestColumns / 32;

/// Rows of a tile are a float apart from alignment, so that neither its rows nor its columns meet
/// in a bank.
__device__ int width_of(int columns) { return columns + 1; }
std::size_t tile_bytes(int columns, int tiles) {
  return sizeof(float) * static_cast<std::size_t>(tiles) * kTile *
         (static_cast<std::size_t>(columns) + 1);
}
constexpr std::size_t kWeightBytes = sizeof(float) * kRows * kTile;

/// 32 rows to shared memory, zeros from `rows` on.
template <class T>
__device__ void load(float* tile, const T* from, std::int64_t stride, int rows, int columns) {
  for (int i = thread_index(); i < kTile * columns; i += kThreads) {
    const int row = i / columns, column = i % columns;
    tile[row * width_of(columns) + column] =
        row < rows ? static_cast<float>(from[row * stride + column]) : 0.0F;
  }
}

/// Products of the warp's own rows with the lane's row of a tile.
__device__ void dot(float (&sums)[kOwn], const float* own, const float* tile, int columns) {
  const float* row = tile + lane_index() * width_of(columns);
  for (int r = 0; r < kOwn; ++r) sums[r] = 0;
  for (int i = 0; i < columns; ++i) {
    PACELINE_UNROLL
    for (int r = 0; r < kOwn; ++r) sums[r] += own[r * width_of(columns) + i] * row[i];
  }
}

/// sums += the warp's weights [kOwn][kTile] times a tile.
__device__ void add(float (&sums)[kOwn][kParts], const float* weights, const float* tile,
                    int columns) {
  for (int k = 0; k < kTile; ++k) {
    PACELINE_UNROLL
    for (int part = 0; part < kParts; ++part) {
      const int column = part * 32 + lane_index();
      if (column >= columns) break;
      const float value = tile[k * width_of(columns) + column];
      PACELINE_UNROLL
      for (int r = 0; r < kOwn; ++r) sums[r][part] += weights[r * kTile + k] * value;
    }
  }
}

/// Writes the warp's rows times their factors.
template <class T>
__device__ void store(T* to, std::int64_t stride, int rows, const float (&sums)[kOwn][kParts],
                      const float (&factors)[kOwn], int columns) {
  PACELINE_UNROLL
  for (int r = 0; r < kOwn; ++r) {
    PACELINE_UNROLL
    for (int part = 0; part < kParts; ++part) {
      const int column = part * 32 + lane_index();
      if (r < rows && column < columns) to[r * stride + column] = T(sums[r][part] * factors[r]);
    }
  }
}

__device__ bool inside(Span span, int i) { return i >= span.begin && i < span.end; }

template <class T>
__global__ void __launch_bounds__(kThreads) forward(ForwardArguments<T> arguments) {
  const Attention& a = arguments.a;
  const int columns = a.head_dim, own = warp_index() * kOwn;
  float* const q = dynamic_shared<float>();
  float *const k = q + kTile * width_of(columns), *const v = k + kTile * width_of(columns);
  float* const weights = v + kTile * width_of(columns) + own * kTile;
  const BlockPlace at = place_of_block(a.queries, kRows, a.heads, true);
  const auto span_of = [&](int row) {
    return visible_keys(a, arguments.offsets, at.b, at.first + row);
  };
  const int begin = span_of(0).begin, end = span_of(at.rows - 1).end;
  load(q, arguments.q + a.query_at(at.b, at.first, at.head), a.query_stride(), at.rows, columns);
  Span spans[kOwn];
  float maximum[kOwn], sum[kOwn] = {}, out[kOwn][kParts] = {};
  for (int r = 0; r < kOwn; ++r) {
    spans[r] = own + r < at.rows ? span_of(own + r) : Span{};
    maximum[r] = -INFINITY;
  }
  for (int first = begin; first < end; first += kTile) {
    const std::int64_t from = a.key_at(at.b, first, at.head / a.group());
    __syncthreads();
    load(k, arguments.k + from, a.key_stride(), a.keys - first, columns);
    load(v, arguments.v + from, a.key_stride(), a.keys - first, columns);
    __syncthreads();
    float scores[kOwn];
    dot(scores, q + own * width_of(columns), k, columns);
    PACELINE_UNROLL
    for (int r = 0; r < kOwn; ++r) {
      if (!inside(spans[r], first + lane_index())) scores[r] = -INFINITY;
      const float top = fmaxf(maximum[r], warp_max(scores[r]));
      const float shift = softmax_shift(top, arguments.scale_2);
      const float factor = softmax_rescale(maximum[r], shift, arguments.scale_2);
      const float p = probability(scores[r], shift, arguments.scale_2);
      maximum[r] = top;
      sum[r] = sum[r] * factor + p;
      PACELINE_UNROLL
      for (int part = 0; part < kParts; ++part) out[r][part] *= factor;
      weights[r * kTile + lane_index()] = p;
    }
    __syncwarp();
    add(out, weights, v, columns);
  }
  const int first = at.first + own;
  for (int r = 0; r < kOwn; ++r) {
    sum[r] = warp_sum(sum[r]);
    if (own + r < at.rows && lane_index() == 0)
      arguments.lse[a.lse_at(at.b, first + r, at.head)] =
          log_sum_exp(softmax_shift(maximum[r], arguments.scale_2), sum[r]);
    sum[r] = inverse_sum(sum[r]);
  }
  store(arguments.out + a.query_at(at.b, first, at.head), a.query_stride(), at.rows - own, out, sum,
        columns);
}

/// delta and dq of the queries of a block.
template <class T>
__global__ void __launch_bounds__(kThreads) query_gradient(BackwardArguments<T> arguments) {
  const Attention& a = arguments.a;
  const int columns = a.head_dim, own = warp_index() * kOwn, size = kTile * width_of(columns);
  float* const q = dynamic_shared<float>();
  float *const dout = q + size, *const k = dout + size, *const v = k + size;
  float* const weights = v + size + own * kTile;
  const BlockPlace at = place_of_block(a.queries, kRows, a.heads, true);
  const auto span_of = [&](int row) {
    return visible_keys(a, arguments.offsets, at.b, at.first + row);
  };
  const int begin = span_of(0).begin, end = span_of(at.rows - 1).end;
  const std::int64_t rows_at = a.query_at(at.b, at.first, at.head);
  load(q, arguments.q + rows_at, a.query_stride(), at.rows, columns);
  load(dout, arguments.dout + rows_at, a.query_stride(), at.rows, columns);
  __syncthreads();
  Span spans[kOwn];
  float shift[kOwn], delta[kOwn], dq[kOwn][kParts] = {};
  for (int r = 0; r < kOwn; ++r) {
    const bool there = own + r < at.rows;
    const std::int64_t number = a.lse_at(at.b, at.first + own + r, at.head);
    spans[r] = there ? span_of(own + r) : Span{};
    shift[r] = there ? probability_shift(arguments.lse[number]) : 0.0F;
    delta[r] = 0;
    for (int i = lane_index(); there && i < columns; i += 32)
      delta[r] += static_cast<float>(arguments.out[rows_at + (own + r) * a.query_stride() + i]) *
                  dout[(own + r) * width_of(columns) + i];
    delta[r] = warp_sum(delta[r]);
    if (there && lane_index() == 0) arguments.delta[number] = delta[r];
  }
  for (int first = begin; first < end; first += kTile) {
    const std::int64_t from = a.key_at(at.b, first, at.head / a.group());
    __syncthreads();
    load(k, arguments.k + from, a.key_stride(), a.keys - first, columns);
    load(v, arguments.v + from, a.key_stride(), a.keys - first, columns);
    __syncthreads();
    float scores[kOwn], gradients[kOwn];
    dot(scores, q + own * width_of(columns), k, columns);
    dot(gradients, dout + own * width_of(columns), v, columns);
    for (int r = 0; r < kOwn; ++r) {
      const float p = inside(spans[r], first + lane_index())
                          ? probability(scores[r], shift[r], arguments.scale_2)
                          : 0.0F;
      weights[r * kTile + lane_index()] = score_gradient(p, gradients[r], delta[r]);
    }
    __syncwarp();
    add(dq, weights, k, columns);
  }
  const float factors[kOwn] = {arguments.scale, arguments.scale, arguments.scale, arguments.scale};
  store(arguments.dq + rows_at + own * a.query_stride(), a.query_stride(), at.rows - own, dq,
        factors, columns);
}

/// dk and dv of the keys of a block, over the queries of every head that reads them.
template <class T>
__global__ void __launch_bounds__(kThreads) key_gradient(BackwardArguments<T> arguments) {
  const Attention& a = arguments.a;
  const int columns = a.head_dim, own = warp_index() * kOwn, size = kTile * width_of(columns);
  float* const k = dynamic_shared<float>();
  float *const v = k + size, *const q = v + size, *const dout = q + size;
  float *const p = dout + size + own * kTile, *const ds = p + kRows * kTile;
  const BlockPlace at = place_of_block(a.keys, kRows, a.kv_heads, false);
  const auto span_of = [&](int row) {
    return visible_queries(a, arguments.offsets, at.b, at.first + row);
  };
  const int begin = span_of(0).begin, end = span_of(at.rows - 1).end;
  const std::int64_t rows_at = a.key_at(at.b, at.first, at.head);
  load(k, arguments.k + rows_at, a.key_stride(), at.rows, columns);
  load(v, arguments.v + rows_at, a.key_stride(), at.rows, columns);
  Span spans[kOwn];
  float dk[kOwn][kParts] = {}, dv[kOwn][kParts] = {};
  for (int r = 0; r < kOwn; ++r) spans[r] = own + r < at.rows ? span_of(own + r) : Span{};
  for (int head = at.head * a.group(); head < (at.head + 1) * a.group(); ++head) {
    for (int first = begin; first < end; first += kTile) {
      const std::int64_t from = a.query_at(at.b, first, head);
      __syncthreads();
      load(q, arguments.q + from, a.query_stride(), a.queries - first, columns);
      load(dout, arguments.dout + from, a.query_stride(), a.queries - first, columns);
      __syncthreads();
      const int query = first + lane_index();
      const bool there = query < a.queries;
      const std::int64_t number = a.lse_at(at.b, there ? query : first, head);
      const float shift = probability_shift(arguments.lse[number]), delta = arguments.delta[number];
      float scores[kOwn], gradients[kOwn];
      dot(scores, k + own * width_of(columns), q, columns);
      dot(gradients, v + own * width_of(columns), dout, columns);
      for (int r = 0; r < kOwn; ++r) {
        const float weight =
            inside(spans[r], query) ? probability(scores[r], shift, arguments.scale_2) : 0.0F;
        p[r * kTile + lane_index()] = weight;
        ds[r * kTile + lane_index()] = score_gradient(weight, gradients[r], delta);
      }
      __syncwarp();
      add(dv, p, dout, columns);
      add(dk, ds, q, columns);
    }
  }
  const std::int64_t to = rows_at + own * a.key_stride();
  float factors[kOwn] = {arguments.scale, arguments.scale, arguments.scale, arguments.scale};
  store(arguments.dk + to, a.key_stride(), at.rows - own, dk, factors, columns);
  for (float& factor : factors) factor = 1;
  store(arguments.dv + to, a.key_stride(), at.rows - own, dv, factors, columns);
}

template <class T>
void start_forward(const Call& call, Stream stream) {
  const ForwardArguments<T> arguments = forward_arguments<T>(call);
  const Attention& a = arguments.a;
  launch(forward<T>, block_count(a.queries, kRows, a.heads, a.batch), kThreads,
         tile_bytes(a.head_dim, 3) + kWeightBytes, stream, arguments);
}

template <class T>
void start_backward(const Call& call, Stream stream) {
  const BackwardArguments<T> arguments = backward_arguments<T>(call);
  const Attention& a = arguments.a;
  launch(query_gradient<T>, block_count(a.queries, kRows, a.heads, a.batch), kThreads,
         tile_bytes(a.head_dim, 4) + kWeightBytes, stream, arguments);
  launch(key_gradient<T>, block_count(a.keys, kRows, a.kv_heads, a.batch), kThreads,
         tile_bytes(a.head_dim, 4) + 2 * kWeightBytes, stream, arguments);
}

}  // namespace

void attention_plain_forward(const Call& c, Stream s) { PACELINE_BY_TYPE(c, start_forward, s); }
void attention_plain_backward(const Call& c, Stream s) { PACELINE_BY_TYPE(c, start_backward, s); }

}  // namespace paceline::kernels::PACELINE_TARGET
