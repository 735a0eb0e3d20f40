// SPDX-License-Identifier: Apache-2.0
// Attention on one core in fp32: the key-value heads are unpacked once per sequence, then tiles of
// queries meet tiles of keys that fit the caches. Tiles that nobody sees are skipped.
#include <algorithm>
#include <cstddef>

#include "kernels/attention/attention.hpp"
#include "kernels/attention/tile_products.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels {
namespace {

using std::ptrdiff_t;

/// Rows of a query tile, columns of a tile of scores. Columns are computed in steps that all
/// product variants divide.
constexpr int kTileQueries = 48, kTileKeys = 96, kStep = 48;

int up(int value, int step) { return (value + step - 1) / step * step; }
std::size_t size_of(int rows, int columns) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
}

/// One key-value head of one sequence, padded with zeros: rows as they are, and each tile
/// transposed.
struct Keys {
  Keys(const Attention& a, int columns)
      : width(columns), rows(size_of(up(a.keys, kTileKeys), columns)), tiles(rows.size()) {}

  template <class T>
  void unpack(const T* from, int count, int head_dim, ptrdiff_t stride) {
    for (int row = 0; row < count; ++row) {
      float* tile = tiles.data() + ptrdiff_t{row / kTileKeys} * kTileKeys * width + row % kTileKeys;
      float* to = rows.data() + ptrdiff_t{row} * width;
      for (int i = 0; i < head_dim; ++i) to[i] = static_cast<float>(from[row * stride + i]);
      for (int i = 0; i < head_dim; ++i) tile[i * kTileKeys] = to[i];
    }
  }
  /// [width][kTileKeys], of the tile that begins at a key.
  const float* transposed(int key) const { return tiles.data() + ptrdiff_t{key} * width; }
  const float* row(int key) const { return rows.data() + ptrdiff_t{key} * width; }

  int width;
  std::vector<float> rows, tiles;
};

/// Tiles of one query head.
struct QueryTile {
  explicit QueryTile(int columns)
      : width(columns), q(size_of(kTileQueries, columns)), dout(q.size()), sums(q.size()) {}

  template <class T>
  void load(std::vector<float>& to, const T* from, int count, int head_dim, ptrdiff_t stride,
            float factor) const {
    for (int row = 0; row < count; ++row) {
      for (int i = 0; i < head_dim; ++i)
        to[static_cast<std::size_t>(row * width + i)] =
            static_cast<float>(from[row * stride + i]) * factor;
    }
  }
  template <class T>
  void store(T* to, int count, int head_dim, ptrdiff_t stride, const float* factors) const {
    for (int row = 0; row < count; ++row) {
      for (int i = 0; i < head_dim; ++i)
        to[row * stride + i] = T(sums[static_cast<std::size_t>(row * width + i)] * factors[row]);
    }
  }

  int width;
  std::vector<float> q, dout, sums;  ///< sums: of out, or of dq
  Span spans[kTileQueries];
  float maximum[kTileQueries], sum[kTileQueries], lse[kTileQueries], delta[kTileQueries];
  float scores[kTileQueries * kTileKeys], gradients[kTileQueries * kTileKeys];
};

/// Where a tile of queries stands.
struct Place {
  int b, head, first, count;
};

void find_spans(const Attention& a, const std::int32_t* offsets, const Place& at, QueryTile& t) {
  for (int row = 0; row < at.count; ++row)
    t.spans[row] = visible_keys(a, offsets, at.b, at.first + row);
  std::fill(t.sums.begin(), t.sums.end(), 0.0F);
}

/// Calls f(first key, columns) for the tiles that some query of the tile sees.
template <class F>
void for_key_tiles(const QueryTile& t, int count, const F& f) {
  const int end = t.spans[count - 1].end;
  for (int key = t.spans[0].begin / kTileKeys * kTileKeys; key < end; key += kTileKeys)
    f(key, std::min(kTileKeys, up(end - key, kStep)));
}

/// t.scores = Q K^T in powers of two.
void multiply_scores(const TileProducts& fast, const QueryTile& t, const float* a,
                     const float* transposed, int head_dim, int rows, int columns, float* to) {
  fast.product(
      {a, t.width, 1, transposed, kTileKeys, to, kTileKeys, rows, columns, head_dim, false});
}

template <class T>
void forward_tile(const Attention& a, const Call& call, const TileProducts& fast, const Keys& k,
                  const Keys& v, const Place& at, QueryTile& t) {
  find_spans(a, call.at<std::int32_t>(kForwardOffsets), at, t);
  const std::int64_t q_at = a.query_at(at.b, at.first, at.head);
  t.load(t.q, call.at<T>(kForwardQ) + q_at, at.count, a.head_dim, a.query_stride(),
         score_scale_2(a.head_dim));
  std::fill_n(t.maximum, at.count, -INFINITY);
  std::fill_n(t.sum, at.count, 0.0F);
  for_key_tiles(t, at.count, [&](int key, int columns) {
    multiply_scores(fast, t, t.q.data(), k.transposed(key), a.head_dim, at.count, columns,
                    t.scores);
    fast.softmax({t.scores, kTileKeys, at.count, columns, key, t.spans, t.maximum, t.sum,
                  t.sums.data(), t.width});
    fast.product({t.scores, kTileKeys, 1, v.row(key), t.width, t.sums.data(), t.width, at.count,
                  t.width, columns, true});
  });
  float* lse = call.at<float>(kForwardLse) + a.lse_at(at.b, at.first, at.head);
  for (int row = 0; row < at.count; ++row) {
    lse[row] = log_sum_exp(softmax_shift(t.maximum[row], 1), t.sum[row]);
    t.sum[row] = inverse_sum(t.sum[row]);
  }
  t.store(call.at<T>(kForwardOut) + q_at, at.count, a.head_dim, a.query_stride(), t.sum);
}

/// Calls f(place) for all tiles of the query heads that read a key-value head.
template <class F>
void for_query_tiles(const Attention& a, int b, int kv_head, const F& f) {
  for (int head = kv_head * a.group(); head < (kv_head + 1) * a.group(); ++head) {
    for (int first = 0; first < a.queries; first += kTileQueries)
      f(Place{b, head, first, std::min(kTileQueries, a.queries - first)});
  }
}

template <class T>
void forward(const Call& call) {
  const Attention a = attention_of(call.c);
  const TileProducts& fast = tile_products();
  const int width = up(a.head_dim, kTileWidth);
  Keys k(a, width), v(a, width);
  QueryTile tile(width);
  for (int b = 0; b < a.batch; ++b) {
    for (int kv_head = 0; kv_head < a.kv_heads; ++kv_head) {
      const std::int64_t at = a.key_at(b, 0, kv_head);
      k.unpack(call.at<T>(kForwardK) + at, a.keys, a.head_dim, a.key_stride());
      v.unpack(call.at<T>(kForwardV) + at, a.keys, a.head_dim, a.key_stride());
      for_query_tiles(a, b, kv_head, [&](const Place& place) {
        forward_tile<T>(a, call, fast, k, v, place, tile);
      });
    }
  }
}

/// Q, dO, lse and delta of a tile.
template <class T>
void load_gradient_tile(const Attention& a, const Call& call, const Place& at, QueryTile& t) {
  find_spans(a, call.at<std::int32_t>(kOffsets), at, t);
  const std::int64_t first = a.query_at(at.b, at.first, at.head);
  const ptrdiff_t stride = a.query_stride();
  t.load(t.q, call.at<T>(kQ) + first, at.count, a.head_dim, stride, score_scale_2(a.head_dim));
  t.load(t.dout, call.at<T>(kDout) + first, at.count, a.head_dim, stride, 1);
  for (int row = 0; row < at.count; ++row) {
    float parts[8] = {};
    for (int i = 0; i < a.head_dim; ++i)
      parts[i % 8] += static_cast<float>(call.at<T>(kOut)[first + row * stride + i]) *
                      t.dout[static_cast<std::size_t>(row * t.width + i)];
    t.delta[row] = 0;
    for (const float part : parts) t.delta[row] += part;
    t.lse[row] = call.at<float>(kLse)[a.lse_at(at.b, at.first + row, at.head)];
  }
}

/// Sums of dk and dv of a key-value head.
struct KeyGradients {
  explicit KeyGradients(const Keys& keys)
      : width(keys.width), dk(keys.rows.size()), dv(keys.rows.size()) {}
  void clear() {
    std::fill(dk.begin(), dk.end(), 0.0F);
    std::fill(dv.begin(), dv.end(), 0.0F);
  }
  template <class T>
  void store(const std::vector<float>& from, T* to, int count, int head_dim, ptrdiff_t stride,
             float factor) const {
    for (int row = 0; row < count; ++row) {
      for (int i = 0; i < head_dim; ++i)
        to[row * stride + i] = T(from[size_of(row, width) + static_cast<std::size_t>(i)] * factor);
    }
  }
  int width;
  std::vector<float> dk, dv;
};

/// q carries score_scale_2, so dk lacks a factor of ln 2 in the end and dq one of the scale.
template <class T>
void backward_tile(const Attention& a, const Call& call, const TileProducts& fast, const Keys& k,
                   const Keys& v, KeyGradients& sums, const Place& at, QueryTile& t) {
  load_gradient_tile<T>(a, call, at, t);
  for_key_tiles(t, at.count, [&](int key, int columns) {
    multiply_scores(fast, t, t.q.data(), k.transposed(key), a.head_dim, at.count, columns,
                    t.scores);
    multiply_scores(fast, t, t.dout.data(), v.transposed(key), a.head_dim, at.count, columns,
                    t.gradients);
    fast.gradient(
        {t.scores, t.gradients, kTileKeys, at.count, columns, key, t.spans, t.lse, t.delta});
    const ptrdiff_t at_key = ptrdiff_t{key} * t.width;
    fast.product({t.scores, 1, kTileKeys, t.dout.data(), t.width, sums.dv.data() + at_key, t.width,
                  columns, t.width, at.count, true});
    fast.product({t.gradients, 1, kTileKeys, t.q.data(), t.width, sums.dk.data() + at_key, t.width,
                  columns, t.width, at.count, true});
    fast.product({t.gradients, kTileKeys, 1, k.row(key), t.width, t.sums.data(), t.width, at.count,
                  t.width, columns, true});
  });
  std::fill_n(t.sum, at.count, score_scale(a.head_dim));
  t.store(call.at<T>(kDq) + a.query_at(at.b, at.first, at.head), at.count, a.head_dim,
          a.query_stride(), t.sum);
}

template <class T>
void backward(const Call& call) {
  const Attention a = attention_of(call.c);
  const TileProducts& fast = tile_products();
  const int width = up(a.head_dim, kTileWidth);
  Keys k(a, width), v(a, width);
  KeyGradients sums(k);
  QueryTile tile(width);
  for (int b = 0; b < a.batch; ++b) {
    for (int kv_head = 0; kv_head < a.kv_heads; ++kv_head) {
      const std::int64_t at = a.key_at(b, 0, kv_head);
      k.unpack(call.at<T>(kK) + at, a.keys, a.head_dim, a.key_stride());
      v.unpack(call.at<T>(kV) + at, a.keys, a.head_dim, a.key_stride());
      sums.clear();
      for_query_tiles(a, b, kv_head, [&](const Place& place) {
        backward_tile<T>(a, call, fast, k, v, sums, place, tile);
      });
      sums.store(sums.dk, call.at<T>(kDk) + at, a.keys, a.head_dim, a.key_stride(), kLn2);
      sums.store(sums.dv, call.at<T>(kDv) + at, a.keys, a.head_dim, a.key_stride(), 1);
    }
  }
}

}  // namespace

void attention_cpu_forward(const Call& call) { PACELINE_BY_TYPE(call, forward); }
void attention_cpu_backward(const Call& call) { PACELINE_BY_TYPE(call, backward); }

}  // namespace paceline::kernels
