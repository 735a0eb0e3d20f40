// SPDX-License-Identifier: Apache-2.0
#include "kernels/codec/device.hpp"
#include "kernels/codec/votes.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/pack_sign/pack_sign.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr unsigned kThreads = 256, kWarps = kThreads / 32;
constexpr int kWordsPerWarp = 32;
constexpr int kAtOnce = 8;  // loads under way per thread

/// A warp makes 32 words: lane w keeps the w-th, then all are stored at once.
template <class T>
__global__ void __launch_bounds__(kThreads)
    encode(const T* x, std::uint32_t* words, std::int64_t count) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const std::int64_t total = numeric::sign_words(count);
  const std::int64_t step = std::int64_t{gridDim.x} * kWarps * kWordsPerWarp;
  for (std::int64_t first = (std::int64_t{blockIdx.x} * kWarps + threadIdx.x / 32) * kWordsPerWarp;
       first < total; first += step) {
    std::uint32_t mine = 0;
    for (int begin = 0; begin < kWordsPerWarp; begin += kAtOnce) {
      std::uint32_t signs[kAtOnce];
      PACELINE_UNROLL
      for (int w = 0; w < kAtOnce; ++w) {
        const std::int64_t i = (first + begin + w) * 32 + lane;
        signs[w] = i < count ? numeric::bits_of(static_cast<float>(x[i])) >> 31 : 0;
      }
      PACELINE_UNROLL
      for (int w = 0; w < kAtOnce; ++w) {
        const std::uint32_t word = __ballot_sync(0xffffffffU, static_cast<int>(signs[w]));
        mine = lane == begin + w ? word : mine;
      }
    }
    if (first + lane < total) words[first + lane] = mine;
  }
}

template <int P>
__global__ void __launch_bounds__(kThreads)
    vote(const std::uint32_t* votes, std::uint32_t* out, std::int64_t words, int workers) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t word = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; word < words;
       word += step) {
    numeric::VoteCounts<P> counts;
    int w = 0;
    for (; w + kAtOnce <= workers; w += kAtOnce) {
      std::uint32_t now[kAtOnce];
      PACELINE_UNROLL
      for (int k = 0; k < kAtOnce; ++k) now[k] = votes[(w + k) * words + word];
      PACELINE_UNROLL
      for (int k = 0; k < kAtOnce; ++k) numeric::add_votes(counts, now[k]);
    }
    for (; w < workers; ++w) numeric::add_votes(counts, votes[w * words + word]);
    out[word] = numeric::sign_majority(counts, static_cast<std::uint32_t>(workers));
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    decode(const std::uint32_t* words, const float* scale, T* y, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads * 4;
  const float size = scale[0];
  for (std::int64_t first = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * 4; first < count;
       first += step) {
    const std::uint32_t bits = words[first / 32] >> (first % 32);
    Pack<T, 4> values;
    for (int i = 0; i < 4; ++i) values.at[i] = T(numeric::sign_value(bits, i, size));
    store_up_to(y, first, values, count);
  }
}

template <class T>
void launch_encode(const Call& call, Stream stream) {
  launch(encode<T>, blocks_for(call["count"], std::int64_t{kThreads} * kWordsPerWarp), kThreads, 0,
         stream, call.at<T>(0), call.at<std::uint32_t>(1), call["count"]);
}
template <int P>
void launch_vote(const Call& call, Stream stream) {
  const std::int64_t words = numeric::sign_words(call["count"]);
  launch(vote<P>, blocks_for(words, kThreads), kThreads, 0, stream, call.at<std::uint32_t>(0),
         call.at<std::uint32_t>(1), words, static_cast<int>(call["workers"]));
}
template <class T>
void launch_decode(const Call& call, Stream stream) {
  launch(decode<T>, blocks_for(call["count"], kThreads * 4), kThreads, 0, stream,
         call.at<std::uint32_t>(0), call.at<float>(1), call.at<T>(2), call["count"]);
}

}  // namespace

void pack_sign_encode(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_encode, s); }
void pack_sign_vote(const Call& c, Stream s) {
  PACELINE_BY_PLANES(c["workers"], launch_vote, c, s);
}
void pack_sign_decode(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_decode, s); }

}  // namespace paceline::kernels::PACELINE_TARGET
