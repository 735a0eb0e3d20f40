// SPDX-License-Identifier: Apache-2.0
#include "kernels/codec/maxima.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/quantise_nvfp4/quantise_nvfp4.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr int kLanes = 4;  // per block of 16: four elements, two bytes each
constexpr int kGroups = kThreads / kLanes;

template <class T>
__global__ void __launch_bounds__(kThreads)
    encode(const T* x, const std::uint32_t* maxima, unsigned parts, std::uint8_t* codes,
           std::uint8_t* block_scales, float* tensor_scale, std::int64_t count) {
  const float tensor = numeric::nvfp4_tensor_scale(largest_of_parts(maxima, parts));
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const std::int64_t blocks = numeric::nvfp4_blocks(count), bytes = (count + 1) / 2;
  for (std::int64_t base = std::int64_t{blockIdx.x} * kGroups; base < blocks;
       base += std::int64_t{gridDim.x} * kGroups) {
    const std::int64_t b = base + static_cast<int>(threadIdx.x) / kLanes;
    const std::int64_t first = b * numeric::kNvfp4Block + lane * 4;
    const Pack<T, 4> mine = load_up_to<T, 4>(x, first, count);
    const float largest = numeric::float_of(group_max<kLanes>(largest_of(mine, 0)));
    const std::uint8_t block = numeric::nvfp4_block_code(largest, tensor);
    const float inverse = numeric::nvfp4_inverse(numeric::nvfp4_scale(block, tensor));
    float quotients[4];
    for (int i = 0; i < 4; ++i) quotients[i] = static_cast<float>(mine.at[i]) * inverse;
    if (lane == 0 && b < blocks) block_scales[b] = block;
    const Pack<std::uint8_t, 2> pairs{{numeric::nvfp4_pair(quotients[0], quotients[1]),
                                       numeric::nvfp4_pair(quotients[2], quotients[3])}};
    store_up_to(codes, first / 2, pairs, bytes);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) tensor_scale[0] = tensor;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    decode(const std::uint8_t* codes, const std::uint8_t* block_scales, const float* tensor_scale,
           T* y, std::int64_t count) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads * 4;
  const std::int64_t bytes = (count + 1) / 2;
  const float tensor = tensor_scale[0];
  for (std::int64_t first = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * 4; first < count;
       first += step) {
    const float scale = numeric::nvfp4_scale(block_scales[first / numeric::kNvfp4Block], tensor);
    const auto pairs = load_up_to<std::uint8_t, 2>(codes, first / 2, bytes);
    Pack<T, 4> values;
    for (int i = 0; i < 4; ++i)
      values.at[i] = T(numeric::E2m1::decode(pairs.at[i / 2] >> (i % 2 * 4) & 15U) * scale);
    store_up_to(y, first, values, count);
  }
}

template <class T>
void launch_encode(const Call& call, Stream stream) {
  const std::int64_t count = call["count"];
  const unsigned parts = launch_maxima(call.at<T>(0), call.at<std::uint32_t>(4), count, stream);
  launch(encode<T>, blocks_for(numeric::nvfp4_blocks(count), kGroups * 2), kThreads, 0, stream,
         call.at<T>(0), call.at<std::uint32_t>(4), parts, call.at<std::uint8_t>(1),
         call.at<std::uint8_t>(2), call.at<float>(3), count);
}
template <class T>
void launch_decode(const Call& call, Stream stream) {
  const std::int64_t count = call["count"];
  launch(decode<T>, blocks_for(count, kThreads * 4), kThreads, 0, stream, call.at<std::uint8_t>(0),
         call.at<std::uint8_t>(1), call.at<float>(2), call.at<T>(3), count);
}

}  // namespace

void quantise_nvfp4_encode(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_encode, s); }
void quantise_nvfp4_decode(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_decode, s); }

}  // namespace paceline::kernels::PACELINE_TARGET
