// SPDX-License-Identifier: Apache-2.0
#include "kernels/codec/maxima.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/quantise/quantise.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

using numeric::E4m3Code;
using numeric::E5m2Code;
using numeric::Int8Code;

using Codes4 = Pack<std::uint8_t, 4>;

template <class Code, class T, int N>
__device__ Pack<std::uint8_t, N> encode_pack(const Pack<T, N>& x, float inverse) {
  Pack<std::uint8_t, N> codes;
  for (int i = 0; i < N; ++i) codes.at[i] = Code::encode(static_cast<float>(x.at[i]) * inverse);
  return codes;
}

/// A group of lanes per block of elements, four elements to a lane at a time; blocks whose size is
/// no multiple of four, and rests of the last block, one by one.
template <class Code, class T, int kLanes>
__global__ void __launch_bounds__(kThreads)
    encode_blocks(const T* x, std::uint8_t* codes, float* scales, std::int64_t count,
                  std::int64_t block) {
  constexpr int kGroups = kThreads / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t blocks = (count + block - 1) / block;
  for (std::int64_t base = std::int64_t{blockIdx.x} * kGroups; base < blocks;
       base += std::int64_t{gridDim.x} * kGroups) {
    const std::int64_t b = base + static_cast<int>(threadIdx.x) / kLanes, first = b * block;
    const std::int64_t size = b >= blocks ? 0 : (first + block <= count ? block : count - first);
    const std::int64_t whole = block % 4 == 0 ? size / 4 * 4 : 0;
    std::uint32_t largest = 0;
    Pack<T, 4> kept{};  // of the first round: blocks of up to 128 are read once
    for (std::int64_t i = 4 * lane; i < whole; i += 4 * kLanes) {
      const Pack<T, 4> now = pack_at<T, 4>(x, first + i);
      if (i < 4 * kLanes) kept = now;
      largest = largest_of(now, largest);
    }
    for (std::int64_t i = whole + lane; i < size; i += kLanes) {
      const std::uint32_t m = numeric::finite_magnitude(static_cast<float>(x[first + i]));
      largest = m > largest ? m : largest;
    }
    largest = group_max<kLanes>(largest);
    const float scale = numeric::scale_of(numeric::float_of(largest), Code::top());
    const float inverse = 1 / scale;
    for (std::int64_t i = 4 * lane; i < whole; i += 4 * kLanes)
      pack_at<std::uint8_t, 4>(codes, first + i) =
          encode_pack<Code>(i < 4 * kLanes ? kept : pack_at<T, 4>(x, first + i), inverse);
    for (std::int64_t i = whole + lane; i < size; i += kLanes)
      codes[first + i] = Code::encode(static_cast<float>(x[first + i]) * inverse);
    if (lane == 0 && size > 0) scales[b] = scale;
  }
}

/// `per_scale` groups of four share a scale, 0: all do. Elements behind the last whole group one by
/// one.
template <class Code, class T>
__global__ void __launch_bounds__(kThreads)
    decode_groups(const std::uint8_t* codes, const float* scales, T* y, std::int64_t count,
                  std::uint32_t per_scale) {
  const auto groups = static_cast<std::uint32_t>(count / 4);
  const std::uint32_t step = gridDim.x * kThreads, start = blockIdx.x * kThreads + threadIdx.x;
  for (std::uint32_t g = start; g < groups; g += step) {
    const float scale = scales[per_scale == 0 ? 0 : g / per_scale];
    const Codes4 now = pack_at<std::uint8_t, 4>(codes, std::int64_t{g} * 4);
    Pack<T, 4> values;
    for (int i = 0; i < 4; ++i) values.at[i] = T(Code::decode(now.at[i]) * scale);
    pack_at<T, 4>(y, std::int64_t{g} * 4) = values;
  }
  const std::int64_t rest = std::int64_t{groups} * 4 + start;
  if (rest < count)
    y[rest] = T(Code::decode(codes[rest]) * scales[per_scale == 0 ? 0 : groups / per_scale]);
}

template <class Code, class T>
__global__ void __launch_bounds__(kThreads)
    decode_any(const std::uint8_t* codes, const float* scales, T* y, std::int64_t count,
               std::int64_t block) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count; i += step)
    y[i] = T(Code::decode(codes[i]) * scales[i / block]);
}

template <class Code, class T>
__global__ void __launch_bounds__(kThreads)
    encode_tensor(const T* x, const std::uint32_t* maxima, unsigned parts, std::uint8_t* codes,
                  float* scales, std::int64_t count) {
  constexpr int kAtOnce = 16 / sizeof(T);
  const float scale = numeric::scale_of(largest_of_parts(maxima, parts), Code::top());
  const float inverse = 1 / scale;
  const std::int64_t packs = count / kAtOnce, step = std::int64_t{gridDim.x} * kThreads;
  const std::int64_t start = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (std::int64_t p = start; p < packs; p += step)
    pack_at<std::uint8_t, kAtOnce>(codes, p * kAtOnce) =
        encode_pack<Code>(pack_at<T, kAtOnce>(x, p * kAtOnce), inverse);
  for (std::int64_t i = packs * kAtOnce + start; i < count; i += step)
    codes[i] = Code::encode(static_cast<float>(x[i]) * inverse);
  if (start == 0) scales[0] = scale;
}

template <class Code, class T, int kLanes>
void launch_blocks(const Call& call, Stream stream) {
  const std::int64_t count = call["count"], block = call["block"];
  launch(encode_blocks<Code, T, kLanes>,
         blocks_for(numeric::scaled_blocks(count, block), kThreads / kLanes), kThreads, 0, stream,
         call.at<T>(0), call.at<std::uint8_t>(1), call.at<float>(2), count, block);
}
template <class Code, class T>
void launch_encode(const Call& call, Stream stream) {
  const std::int64_t count = call["count"], block = call["block"];
  if (block >= 128) return launch_blocks<Code, T, 32>(call, stream);
  if (block >= 32) return launch_blocks<Code, T, 8>(call, stream);
  if (block > 0) return launch_blocks<Code, T, 4>(call, stream);
  const unsigned parts = launch_maxima(call.at<T>(0), call.at<std::uint32_t>(3), count, stream);
  launch(encode_tensor<Code, T>, blocks_for(count, kThreads * 8), kThreads, 0, stream,
         call.at<T>(0), call.at<std::uint32_t>(3), parts, call.at<std::uint8_t>(1),
         call.at<float>(2), count);
}
template <class Code, class T>
void launch_decode(const Call& call, Stream stream) {
  const std::int64_t count = call["count"], block = call["block"];
  const bool groups = block % 4 == 0 && count / 4 <= INT32_MAX && block / 4 <= INT32_MAX;
  const unsigned grid = blocks_for(count, kThreads * 4);
  if (groups)
    launch(decode_groups<Code, T>, grid, kThreads, 0, stream, call.at<std::uint8_t>(0),
           call.at<float>(1), call.at<T>(2), count, static_cast<std::uint32_t>(block / 4));
  else
    launch(decode_any<Code, T>, grid, kThreads, 0, stream, call.at<std::uint8_t>(0),
           call.at<float>(1), call.at<T>(2), count, block == 0 ? count : block);
}

template <class Code>
struct OfCode {
  template <class T>
  static void encode(const Call& call, Stream stream) {
    launch_encode<Code, T>(call, stream);
  }
  template <class T>
  static void decode(const Call& call, Stream stream) {
    launch_decode<Code, T>(call, stream);
  }
};

}  // namespace

void quantise_e4m3_encode(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, OfCode<E4m3Code>::template encode, s);
}
void quantise_e4m3_decode(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, OfCode<E4m3Code>::template decode, s);
}
void quantise_e5m2_encode(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, OfCode<E5m2Code>::template encode, s);
}
void quantise_e5m2_decode(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, OfCode<E5m2Code>::template decode, s);
}
void quantise_int8_encode(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, OfCode<Int8Code>::template encode, s);
}
void quantise_int8_decode(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, OfCode<Int8Code>::template decode, s);
}

}  // namespace paceline::kernels::PACELINE_TARGET
