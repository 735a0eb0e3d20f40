// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cmath>
#include <cstdint>

#include "base/numeric/float_formats.hpp"
#include "base/numeric/host_device.hpp"
#include "kernels/operation.hpp"

/// Scaled dot-product attention of every (batch, head): S = Q K^T / sqrt(head_dim), P = softmax of
/// the keys a query sees, O = P V, lse = log sum exp S. Nothing of the size of S is stored:
///   forward   tiles of keys in turn with a running maximum and sum (Milakov and Gimelshein, Online
///             normalizer calculation for softmax, arXiv:1805.02867, algorithm 3; Dao,
///             FlashAttention-2, arXiv:2307.08691, algorithm 1)
///   backward  P = exp(S - lse) again, delta = rowsum(dO * O), dP = dO V^T, dS = P (dP - delta),
///             dV = P^T dO, dQ = dS K / sqrt(head_dim), dK = dS^T Q / sqrt(head_dim)
///             (arXiv:2307.08691, algorithm 2; its loops are split, see attention_flash_backward)
/// Layout: q, out [batch, queries, heads, head_dim]; k, v [batch, keys, kv_heads, head_dim];
/// lse [batch, heads, queries], natural logarithm. Head h reads key-value head h / (heads /
/// kv_heads) (Ainslie et al., GQA, arXiv:2305.13245). A query that sees no key has out 0, lse
/// -infinity and no gradient.
namespace paceline::kernels {

/// The extents of a case.
struct Attention {
  int batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1;
  int head_dim = 8;   ///< a multiple of 8, at most 256
  int documents = 0;  ///< pieces of all batch * queries tokens; 0: sequences are whole
  bool causal = false;

  PACELINE_HD int group() const { return heads / kv_heads; }
  /// Causal: query i sees keys up to i + shift, so the last query sees the last key.
  PACELINE_HD int shift() const { return keys - queries; }
  /// First element of a row of q, out, dout, dq and of k, v, dk, dv; next rows are a stride
  /// further.
  PACELINE_HD std::int64_t query_at(int b, int row, int head) const {
    return ((std::int64_t{b} * queries + row) * heads + head) * head_dim;
  }
  PACELINE_HD std::int64_t key_at(int b, int row, int kv_head) const {
    return ((std::int64_t{b} * keys + row) * kv_heads + kv_head) * head_dim;
  }
  PACELINE_HD std::int64_t query_stride() const { return std::int64_t{heads} * head_dim; }
  PACELINE_HD std::int64_t key_stride() const { return std::int64_t{kv_heads} * head_dim; }
  /// Of lse and delta.
  PACELINE_HD std::int64_t lse_at(int b, int row, int head) const {
    return (std::int64_t{b} * heads + head) * queries + row;
  }
};

/// From extents batch heads kv_heads queries keys head_dim causal, and documents and ragged where
/// they are there. Throws base::Error where they do not fit each other.
Attention attention_of(const Case& c);

/// begin <= i < end.
struct Span {
  int begin = 0, end = 0;
};
PACELINE_HD inline Span intersection(Span a, Span b) {
  const Span result{a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
  return result.begin < result.end ? result : Span{result.begin, result.begin};
}

/// The part of sequence b that the document of its token `row` covers. `offsets`: first tokens of
/// the documents in the flat order of all batch * queries tokens, ascending from 0, and their end.
PACELINE_HD inline Span document_of(const Attention& a, const std::int32_t* offsets, int b,
                                    int row) {
  if (a.documents == 0) return {0, a.queries};
  const std::int64_t first = std::int64_t{b} * a.queries, token = first + row;
  int low = 0, high = a.documents;  // the last document that does not begin after the token
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (offsets[middle] <= token) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const std::int64_t begin = offsets[low] - first, end = offsets[low + 1] - first;
  return {begin < 0 ? 0 : static_cast<int>(begin),
          end > a.queries ? a.queries : static_cast<int>(end)};
}

/// Keys that a query sees, always inside 0 … keys; begin and end never fall from query to query.
PACELINE_HD inline Span visible_keys(const Attention& a, const std::int32_t* offsets, int b,
                                     int query) {
  Span span = a.documents == 0 ? Span{0, a.keys} : document_of(a, offsets, b, query);
  if (a.causal) span = intersection(span, {0, query + a.shift() + 1});
  return intersection(span, {0, a.keys});
}
/// Queries that see a key; the same relation.
PACELINE_HD inline Span visible_queries(const Attention& a, const std::int32_t* offsets, int b,
                                        int key) {
  Span span = document_of(a, offsets, b, key);
  if (a.causal) span = intersection(span, {key - a.shift(), a.queries});
  return intersection(span, {0, a.queries});
}

constexpr float kLog2E = 1.4426950408889634F, kLn2 = 0.6931471805599453F;

/// What scores are multiplied by, and the same for powers of two: exp(s) = 2^(s log2 e).
PACELINE_HD inline float score_scale(int head_dim) {
  return 1.0F / std::sqrt(static_cast<float>(head_dim));
}
PACELINE_HD inline float score_scale_2(int head_dim) { return score_scale(head_dim) * kLog2E; }

/// The bits of a float clamped to [-127, 128], NaN left alone: the patterns from a limit (excluded)
/// to infinity are one range of whole numbers, of negative floats and of positive ones.
PACELINE_HD inline std::uint32_t clamp_bits(std::uint32_t bits) {
  constexpr std::uint32_t kLow = 0xc2fe0000U, kHigh = 0x43000000U, kInfinity = 0x7f800000U;
  const bool low = bits - kLow - 1 < (kInfinity | 0x80000000U) - kLow;
  const bool high = bits - kHigh - 1 < kInfinity - kHigh;
  const std::uint32_t low_mask = 0U - static_cast<std::uint32_t>(low);
  const std::uint32_t high_mask = 0U - static_cast<std::uint32_t>(high);
  return (kLow & low_mask) | (kHigh & high_mask) | (bits & ~(low_mask | high_mask));
}

/// 2^x to a unit in the last place for x from -126 up; 0 from -127 down, in between something from
/// 0 to 2^-126; NaN of NaN. One straight line without comparisons of floats, so that loops over it
/// vectorise: 2^x = 2^n 2^f with n the nearest whole number, and the Taylor polynomial of degree 7
/// of 2^f for |f| <= 1/2.
PACELINE_HD inline float exp2_of(float x) {
#ifdef __CUDA_ARCH__
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to a whole number
  const float clamped = numeric::float_of(clamp_bits(numeric::bits_of(x)));
  const float shifted = clamped + kRound, f = clamped - (shifted - kRound);
  float p = 1.5252733804e-5F;
  p = p * f + 1.5403530393e-4F;
  p = p * f + 1.3333558146e-3F;
  p = p * f + 9.6181291076e-3F;
  p = p * f + 5.5504108665e-2F;
  p = p * f + 2.4022650696e-1F;
  p = p * f + 6.9314718056e-1F;
  p = p * f + 1.0F;
  const std::uint32_t power = (numeric::bits_of(shifted) - numeric::bits_of(kRound)) << 23;
  return numeric::float_of(numeric::bits_of(p) + power);
#endif
}

/// Online softmax in powers of two: scores s of a tile whose maximum together with all earlier ones
/// is `maximum` contribute 2^(s c - shift), c = score_scale_2. Nothing seen yet: maximum -infinity,
/// and any finite shift does.
PACELINE_HD inline float softmax_shift(float maximum, float scale_2) {
  return maximum == -INFINITY ? 0.0F : maximum * scale_2;
}
/// What sums and outputs up to now are multiplied by when the maximum rises.
PACELINE_HD inline float softmax_rescale(float old_maximum, float shift, float scale_2) {
  return exp2_of(old_maximum * scale_2 - shift);
}
/// Of all keys, natural, from the final shift and sum; -infinity where there were none.
PACELINE_HD inline float log_sum_exp(float shift, float sum) {
  return sum > 0 ? shift * kLn2 + std::log(sum) : -INFINITY;
}
/// What outputs are divided by.
PACELINE_HD inline float inverse_sum(float sum) { return sum > 0 ? 1.0F / sum : 0.0F; }

/// P again from a score and its query's lse.
PACELINE_HD inline float probability(float score, float lse, float scale_2) {
  return exp2_of(score * scale_2 - lse * kLog2E);
}
/// dS.
PACELINE_HD inline float score_gradient(float p, float dp, float delta) { return p * (dp - delta); }

PACELINE_DECLARE_DEVICE(attention_forward)
PACELINE_DECLARE_DEVICE(attention_backward)
/// CUDA cores only, every type and head_dim.
PACELINE_DECLARE_DEVICE(attention_plain_forward)
PACELINE_DECLARE_DEVICE(attention_plain_backward)
/// Tensor cores: bf16 and fp16, head_dim 64 and 128.
PACELINE_DECLARE_DEVICE(attention_flash_forward)
PACELINE_DECLARE_DEVICE(attention_flash_backward)
/// On the processor.
void attention_cpu_forward(const Call& call);
void attention_cpu_backward(const Call& call);

/// Arguments of the two passes, in this order.
enum AttentionForwardTensor : std::uint8_t {
  kForwardQ,
  kForwardK,
  kForwardV,
  kForwardOffsets,
  kForwardOut,
  kForwardLse
};
enum AttentionBackwardTensor : std::uint8_t {
  kQ,
  kK,
  kV,
  kOffsets,
  kOut,
  kLse,
  kDout,
  kDq,
  kDk,
  kDv,
  kDelta
};

}  // namespace paceline::kernels
