// SPDX-License-Identifier: Apache-2.0
#include "kernels/pack_ternary/pack_ternary.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/codec/reference.hpp"
#include "kernels/codec/tables.hpp"
#include "kernels/codec/votes.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels {
namespace {

std::int64_t words_of(const Case& c) { return numeric::ternary_words(c.shape["count"]); }
double wire_bytes(const Case& c) {
  return static_cast<double>(numeric::ternary_bytes(c.shape["count"]));
}

std::vector<TensorSpec> encode_tensors(const Case& c) {
  return {{"x", Use::In, c.type, c.shape["count"]},
          {"threshold", Use::In, DType::F32, 1, Fill::Uniform, 1},
          {"words", Use::Out, DType::U32, words_of(c)}};
}
std::vector<TensorSpec> vote_tensors(const Case& c) {
  return {{"votes", Use::In, DType::U32, c.shape["workers"] * words_of(c), Fill::Whole, 0x1p32},
          {"words", Use::Out, DType::U32, words_of(c)}};
}
std::vector<TensorSpec> decode_tensors(const Case& c) {
  return {{"words", Use::In, DType::U32, words_of(c), Fill::Whole, 0x1p32},
          {"scale", Use::In, DType::F32, 1, Fill::Uniform, 2},
          {"y", Use::Out, c.type, c.shape["count"]}};
}
Work wire_work(const Case& c) {
  return {2 * static_cast<double>(c.shape["count"]), stored_bytes(c) + wire_bytes(c)};
}
Work vote_work(const Case& c) {
  const auto workers = static_cast<double>(c.shape["workers"]);
  return {workers * static_cast<double>(c.shape["count"]), (workers + 1) * wire_bytes(c)};
}

/// Where element i's bits are: the word of its plus bit, and the bit's value.
std::size_t plus_word(std::size_t i) { return i / 32 * 2; }
double bit_value(std::size_t i) { return std::ldexp(1.0, static_cast<int>(i % 32)); }
int bit_at(double word, std::size_t i) {
  return static_cast<int>(static_cast<std::uint32_t>(word) >> i % 32 & 1U);
}

void encode_reference(const Case&, Values& v) {
  for (std::size_t i = 0; i < v[0].size(); ++i) {
    if (v[0][i] > v[1][0]) v[2][plus_word(i)] += bit_value(i);
    if (v[0][i] < -v[1][0]) v[2][plus_word(i) + 1] += bit_value(i);
  }
}
void vote_reference(const Case&, Values& v) {
  const std::size_t words = v[1].size();
  for (std::size_t i = 0; i < 16 * words; ++i) {
    int sum = 0;
    for (std::size_t word = plus_word(i); word < v[0].size(); word += words)
      sum += bit_at(v[0][word], i) - bit_at(v[0][word + 1], i);
    if (sum != 0) v[1][plus_word(i) + (sum < 0 ? 1 : 0)] += bit_value(i);
  }
}
void decode_reference(const Case& c, Values& v) {
  for (std::size_t i = 0; i < v[2].size(); ++i) {
    const int sign = bit_at(v[0][plus_word(i)], i) - bit_at(v[0][plus_word(i) + 1], i);
    v[2][i] = stored(c.type, sign * v[1][0]);
  }
}

template <class T>
void encode_cpu(const Call& call) {
  const std::int64_t count = call["count"];
  const T* x = call.at<T>(0);
  const float threshold = call.at<float>(1)[0];
  for (std::int64_t first = 0; first < count; first += 32) {
    const auto size = static_cast<int>(std::min<std::int64_t>(32, count - first));
    std::uint32_t plus = 0, minus = 0;
    for (int i = 0; i < size; ++i) {
      const auto value = static_cast<float>(x[first + i]);
      plus |= static_cast<std::uint32_t>(numeric::is_plus(value, threshold)) << i;
      minus |= static_cast<std::uint32_t>(numeric::is_minus(value, threshold)) << i;
    }
    call.at<std::uint32_t>(2)[first / 16] = plus;
    call.at<std::uint32_t>(2)[first / 16 + 1] = minus;
  }
}

/// Even words count plus, odd ones minus.
template <int P>
void vote_cpu(const std::uint32_t* votes, std::int64_t workers, std::int64_t words,
              std::uint32_t* out) {
  count_votes<P>(votes, workers, words,
                 [&](const auto& counts, std::int64_t first, std::int64_t size) {
                   for (std::int64_t i = 0; i < size; i += 2) {
                     out[first + i] = numeric::more_votes(counts(i), counts(i + 1));
                     out[first + i + 1] = numeric::more_votes(counts(i + 1), counts(i));
                   }
                 });
}
void vote(const Call& call) {
  const std::int64_t workers = call["workers"], words = words_of(call.c);
  PACELINE_BY_PLANES(workers, vote_cpu, call.at<std::uint32_t>(0), workers, words,
                     call.at<std::uint32_t>(1));
}

template <class T>
void decode_cpu(const Call& call) {
  const std::int64_t count = call["count"];
  const float scale = call.at<float>(1)[0];
  T* y = call.at<T>(2);
  for (std::int64_t first = 0; first < count; first += 32) {
    const auto size = static_cast<int>(std::min<std::int64_t>(32, count - first));
    const std::uint32_t *words = call.at<std::uint32_t>(0) + first / 16, plus = words[0],
                        minus = words[1];
    for (int i = 0; i < size; ++i) y[first + i] = T(numeric::ternary_value(plus, minus, i, scale));
  }
}

std::vector<Shape> test_shapes() { return {{{"count", 1}}, {{"count", 33}}, {{"count", 9217}}}; }

}  // namespace

std::vector<Operation> pack_ternary_operations() {
  return {{"pack-ternary", "encode", "two bits per element: above and below a threshold", kFloats,
           encode_tensors, wire_work, test_shapes, count_bench_shapes, encode_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, encode_cpu); },
           PACELINE_ON_DEVICE(pack_ternary_encode)},
          {"pack-ternary", "vote", "majority of several workers' ternary values", kWordType,
           vote_tensors, vote_work, vote_test_shapes, vote_bench_shapes, vote_reference, vote,
           PACELINE_ON_DEVICE(pack_ternary_vote)},
          {"pack-ternary", "decode", "minus, zero or plus a scale", kFloats, decode_tensors,
           wire_work, test_shapes, count_bench_shapes, decode_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, decode_cpu); },
           PACELINE_ON_DEVICE(pack_ternary_decode)}};
}

}  // namespace paceline::kernels
