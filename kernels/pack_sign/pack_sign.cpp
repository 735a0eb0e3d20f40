// SPDX-License-Identifier: Apache-2.0
#include "kernels/pack_sign/pack_sign.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/codec/reference.hpp"
#include "kernels/codec/tables.hpp"
#include "kernels/codec/votes.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels {
namespace {

using numeric::sign_words;

std::int64_t words_of(const Case& c) { return sign_words(c.shape["count"]); }
std::vector<TensorSpec> encode_tensors(const Case& c) {
  return {{"x", Use::In, c.type, c.shape["count"]}, {"words", Use::Out, DType::U32, words_of(c)}};
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
  const auto n = static_cast<double>(c.shape["count"]);
  return {n, stored_bytes(c) + static_cast<double>(numeric::sign_bytes(c.shape["count"]))};
}
Work vote_work(const Case& c) {
  const auto workers = static_cast<double>(c.shape["workers"]);
  return {workers * static_cast<double>(c.shape["count"]),
          (workers + 1) * static_cast<double>(numeric::sign_bytes(c.shape["count"]))};
}

void encode_reference(const Case&, Values& v) {
  for (std::size_t i = 0; i < v[0].size(); ++i)
    v[1][i / 32] += std::signbit(v[0][i]) ? std::ldexp(1.0, static_cast<int>(i % 32)) : 0;
}
void vote_reference(const Case& c, Values& v) {
  const std::size_t words = v[1].size();
  for (std::size_t i = 0; i < 32 * words; ++i) {
    std::int64_t negative = 0;
    for (std::size_t word = i / 32; word < v[0].size(); word += words)
      negative += static_cast<std::uint32_t>(v[0][word]) >> i % 32 & 1U;
    if (2 * negative > c.shape["workers"])
      v[1][i / 32] += std::ldexp(1.0, static_cast<int>(i % 32));
  }
}
void decode_reference(const Case& c, Values& v) {
  for (std::size_t i = 0; i < v[2].size(); ++i) {
    const bool negative = (static_cast<std::uint32_t>(v[0][i / 32]) >> i % 32 & 1U) != 0;
    v[2][i] = stored(c.type, negative ? -v[1][0] : v[1][0]);
  }
}

template <class T>
void encode_cpu(const Call& call) {
  const std::int64_t count = call["count"];
  const T* x = call.at<T>(0);
  for (std::int64_t first = 0; first < count; first += 32) {
    const auto size = static_cast<int>(std::min<std::int64_t>(32, count - first));
    std::uint32_t word = 0;
    for (int i = 0; i < size; ++i)
      word |= numeric::bits_of(static_cast<float>(x[first + i])) >> 31 << i;
    call.at<std::uint32_t>(1)[first / 32] = word;
  }
}

template <int P>
void vote_cpu(const std::uint32_t* votes, std::int64_t workers, std::int64_t words,
              std::uint32_t* out) {
  count_votes<P>(
      votes, workers, words, [&](const auto& counts, std::int64_t first, std::int64_t size) {
        for (std::int64_t i = 0; i < size; ++i)
          out[first + i] = numeric::sign_majority(counts(i), static_cast<std::uint32_t>(workers));
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
    const std::uint32_t word = call.at<std::uint32_t>(0)[first / 32];
    for (int i = 0; i < size; ++i) y[first + i] = T(numeric::sign_value(word, i, scale));
  }
}

std::vector<Shape> test_shapes() { return {{{"count", 1}}, {{"count", 33}}, {{"count", 9217}}}; }

}  // namespace

std::vector<Operation> pack_sign_operations() {
  return {{"pack-sign", "encode", "a bit per element: its sign", kFloats, encode_tensors, wire_work,
           test_shapes, count_bench_shapes, encode_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, encode_cpu); },
           PACELINE_ON_DEVICE(pack_sign_encode)},
          {"pack-sign", "vote", "majority of several workers' signs", kWordType, vote_tensors,
           vote_work, vote_test_shapes, vote_bench_shapes, vote_reference, vote,
           PACELINE_ON_DEVICE(pack_sign_vote)},
          {"pack-sign", "decode", "plus or minus a scale", kFloats, decode_tensors, wire_work,
           test_shapes, count_bench_shapes, decode_reference,
           [](const Call& c) { PACELINE_BY_TYPE(c, decode_cpu); },
           PACELINE_ON_DEVICE(pack_sign_decode)}};
}

}  // namespace paceline::kernels
