// SPDX-License-Identifier: Apache-2.0
#include "kernels/codec/device.hpp"
#include "kernels/codec/votes.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/pack_ternary/pack_ternary.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr unsigned kThreads = 256, kWarps = kThreads / 32;
constexpr int kPairsPerWarp = 32;
constexpr int kAtOnce = 8;  // loads under way per thread
using Pair = Pack<std::uint32_t, 2>;

/// A warp makes 32 pairs of words: lane w keeps the w-th, then all are stored at once.
template <class T>
__global__ void __launch_bounds__(kThreads)
    encode(const T* x, const float* limit, std::uint32_t* words, std::int64_t count) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  const float threshold = limit[0];
  const std::int64_t total = numeric::sign_words(count);
  const std::int64_t step = std::int64_t{gridDim.x} * kWarps * kPairsPerWarp;
  for (std::int64_t first = (std::int64_t{blockIdx.x} * kWarps + threadIdx.x / 32) * kPairsPerWarp;
       first < total; first += step) {
    Pair mine{};
    for (int begin = 0; begin < kPairsPerWarp; begin += kAtOnce) {
      float values[kAtOnce];
      PACELINE_UNROLL
      for (int w = 0; w < kAtOnce; ++w) {
        const std::int64_t i = (first + begin + w) * 32 + lane;
        values[w] = i < count ? static_cast<float>(x[i]) : 0.0F;
      }
      PACELINE_UNROLL
      for (int w = 0; w < kAtOnce; ++w) {
        const bool plus = numeric::is_plus(values[w], threshold);
        const bool minus = numeric::is_minus(values[w], threshold);
        const Pair pair{{__ballot_sync(0xffffffffU, static_cast<int>(plus)),
                         __ballot_sync(0xffffffffU, static_cast<int>(minus))}};
        if (lane == begin + w) mine = pair;
      }
    }
    if (first + lane < total) pack_at<std::uint32_t, 2>(words, (first + lane) * 2) = mine;
  }
}

template <int P>
__global__ void __launch_bounds__(kThreads)
    vote(const std::uint32_t* votes, std::uint32_t* out, std::int64_t pairs, int workers) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < pairs; i += step) {
    numeric::VoteCounts<P> plus, minus;
    int w = 0;
    const auto add = [&](const Pair& pair) {
      numeric::add_votes(plus, pair.at[0]);
      numeric::add_votes(minus, pair.at[1]);
    };
    const auto load = [&](int worker) {
      return pack_at<std::uint32_t, 2>(votes, (worker * pairs + i) * 2);
    };
    for (; w + kAtOnce <= workers; w += kAtOnce) {
      Pair now[kAtOnce];
      PACELINE_UNROLL
      for (int k = 0; k < kAtOnce; ++k) now[k] = load(w + k);
      PACELINE_UNROLL
      for (int k = 0; k < kAtOnce; ++k) add(now[k]);
    }
    for (; w < workers; ++w) add(load(w));
    pack_at<std::uint32_t, 2>(out, i * 2) =
        Pair{{numeric::more_votes(plus, minus), numeric::more_votes(minus, plus)}};
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    decode(const std::uint32_t* words, const float* scale, T* y, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads * 4;
  const float size = scale[0];
  for (std::int64_t first = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * 4; first < count;
       first += step) {
    const Pair pair = pack_at<std::uint32_t, 2>(words, first / 32 * 2);
    Pack<T, 4> values;
    for (int i = 0; i < 4; ++i)
      values.at[i] =
          T(numeric::ternary_value(pair.at[0], pair.at[1], static_cast<int>(first % 32) + i, size));
    store_up_to(y, first, values, count);
  }
}

template <class T>
void launch_encode(const Call& call, Stream stream) {
  launch(encode<T>, blocks_for(call["count"], std::int64_t{kThreads} * kPairsPerWarp), kThreads, 0,
         stream, call.at<T>(0), call.at<float>(1), call.at<std::uint32_t>(2), call["count"]);
}
template <int P>
void launch_vote(const Call& call, Stream stream) {
  const std::int64_t pairs = numeric::sign_words(call["count"]);
  launch(vote<P>, blocks_for(pairs, kThreads), kThreads, 0, stream, call.at<std::uint32_t>(0),
         call.at<std::uint32_t>(1), pairs, static_cast<int>(call["workers"]));
}
template <class T>
void launch_decode(const Call& call, Stream stream) {
  launch(decode<T>, blocks_for(call["count"], kThreads * 4), kThreads, 0, stream,
         call.at<std::uint32_t>(0), call.at<float>(1), call.at<T>(2), call["count"]);
}

}  // namespace

void pack_ternary_encode(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_encode, s); }
void pack_ternary_vote(const Call& c, Stream s) {
  PACELINE_BY_PLANES(c["workers"], launch_vote, c, s);
}
void pack_ternary_decode(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_decode, s); }

}  // namespace paceline::kernels::PACELINE_TARGET
