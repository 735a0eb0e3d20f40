// SPDX-License-Identifier: Apache-2.0
#include "kernels/codec/compact.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/pack_sparse/pack_sparse.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr unsigned kThreads = 256;

template <class T>
__device__ bool is_nonzero(T x) {
  return numeric::magnitude_of(static_cast<float>(x)) != 0;
}

/// A thread's elements of a tile, zeros behind the last.
template <class T>
__device__ void load_tile(const T* x, std::int64_t first, std::int64_t count, T* mine) {
  PACELINE_UNROLL
  for (int c = 0; c < kPerThread; ++c)
    mine[c] = first + 32 * c < count ? x[first + 32 * c] : T(0.0F);
}

/// Word w of `bytes` bytes, the last of which may be cut off.
inline __device__ void store_word(std::uint8_t* data, std::int64_t w, std::uint32_t word,
                                  std::int64_t bytes) {
  if (4 * w + 4 <= bytes) {
    *reinterpret_cast<std::uint32_t*>(data + 4 * w) = word;
    return;
  }
  for (std::int64_t i = 4 * w; i < bytes; ++i)
    data[i] = static_cast<std::uint8_t>(word >> 8 * (i - 4 * w));
}
inline __device__ std::uint32_t load_word(const std::uint8_t* data, std::int64_t w,
                                          std::int64_t bytes) {
  if (4 * w + 4 <= bytes) return *reinterpret_cast<const std::uint32_t*>(data + 4 * w);
  std::uint32_t word = 0;
  for (std::int64_t i = 4 * w; i < bytes; ++i)
    word |= static_cast<std::uint32_t>(data[i]) << 8 * (i - 4 * w);
  return word;
}

template <class T>
__global__ void __launch_bounds__(kTileThreads)
    bitvector_encode(const T* x, std::uint8_t* bits, std::uint32_t* prefixes, T* values,
                     std::uint32_t* found, std::uint32_t* scan_memory, std::int64_t count,
                     unsigned places) {
  const Scan scan = scan_at(scan_memory);
  const std::int64_t tile = take_tile(scan), start = warp_first(tile);
  const int lane = static_cast<int>(threadIdx.x % 32);
  T mine[kPerThread];
  load_tile(x, start + lane, count, mine);
  const Choice choice = choose(scan, tile, [&](int c) { return is_nonzero(mine[c]); });
  std::uint32_t word = 0;
  PACELINE_UNROLL
  for (int c = 0; c < kPerThread; ++c) word = lane == c ? choice.masks[c] : word;
  if (lane < kPerThread)
    store_word(bits, start / 32 + lane, word, numeric::bitvector_bit_bytes(count));
  if (threadIdx.x == 0) prefixes[tile] = choice.start;
  for_chosen(choice, [&](int c, unsigned place) {
    if (place < places) values[place] = mine[c];
  });
  if (is_last(tile, count)) found[0] = choice.end;
}

/// A block per tile: no tile needs another, as prefixes say where its values start.
template <class T>
__global__ void __launch_bounds__(kTileThreads)
    bitvector_decode(const std::uint8_t* bits, const std::uint32_t* prefixes, const T* values, T* y,
                     std::int64_t count, std::uint64_t places) {
  __shared__ unsigned of_warp[kTileWarps];
  const std::int64_t tile = blockIdx.x, start = warp_first(tile);
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const std::uint32_t word =
      lane < kPerThread ? load_word(bits, start / 32 + lane, numeric::bitvector_bit_bytes(count))
                        : 0;
  const unsigned own = warp_sum(static_cast<unsigned>(__popc(word)));
  if (lane == 0) of_warp[warp] = own;
  __syncthreads();
  std::uint64_t place = prefixes[tile];
  for (int w = 0; w < warp; ++w) place += of_warp[w];
  PACELINE_UNROLL
  for (int c = 0; c < kPerThread; ++c) {
    const std::uint32_t mask = __shfl_sync(0xffffffffU, word, c);
    const std::uint64_t mine = place + static_cast<unsigned>(__popc(mask & lanes_before()));
    const bool there = (mask >> lane & 1U) != 0 && mine < places;
    const std::int64_t i = start + 32 * c + lane;
    if (i < count) y[i] = there ? values[mine] : T(0.0F);
    place += static_cast<unsigned>(__popc(mask));
  }
}

template <class T>
__global__ void __launch_bounds__(kTileThreads)
    coo_encode(const T* x, std::uint32_t* indices, T* values, std::uint32_t* found,
               std::uint32_t* scan_memory, std::int64_t count, unsigned places) {
  const Scan scan = scan_at(scan_memory);
  const std::int64_t tile = take_tile(scan), first = warp_first(tile) + threadIdx.x % 32;
  T mine[kPerThread];
  load_tile(x, first, count, mine);
  const Choice choice = choose(scan, tile, [&](int c) { return is_nonzero(mine[c]); });
  for_chosen(choice, [&](int c, unsigned place) {
    if (place >= places) return;
    indices[place] = static_cast<std::uint32_t>(first + 32 * c);
    values[place] = mine[c];
  });
  if (is_last(tile, count)) found[0] = choice.end;
}

template <class T>
__global__ void __launch_bounds__(kThreads) fill_zeros(T* y, std::int64_t count) {
  constexpr int kAtOnce = 16 / static_cast<int>(sizeof(T));
  Pack<T, kAtOnce> zeros;
  for (int i = 0; i < kAtOnce; ++i) zeros.at[i] = T(0.0F);
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads * kAtOnce;
  for (std::int64_t i = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * kAtOnce; i < count;
       i += step)
    store_up_to(y, i, zeros, count);
}
template <class T>
__global__ void __launch_bounds__(kThreads) scatter(const std::uint32_t* indices, const T* values,
                                                    T* y, std::int64_t count, std::int64_t places) {
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads;
  for (std::int64_t k = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; k < places; k += step) {
    if (indices[k] < count) y[indices[k]] = values[k];
  }
}

unsigned tiles_of(const Call& call) {
  PACELINE_CHECK(call["count"] < std::int64_t{1} << 31);
  return static_cast<unsigned>(numeric::bitvector_tiles(call["count"]));
}

template <class T>
void launch_bitvector_encode(const Call& call, Stream stream) {
  clear(call.at<std::uint32_t>(5), scan_words(call["count"]), stream);
  launch(bitvector_encode<T>, tiles_of(call), kTileThreads, 0, stream, call.at<T>(0),
         call.at<std::uint8_t>(1), call.at<std::uint32_t>(2), call.at<T>(3),
         call.at<std::uint32_t>(4), call.at<std::uint32_t>(5), call["count"],
         static_cast<unsigned>(call["nonzeros"]));
}
template <class T>
void launch_bitvector_decode(const Call& call, Stream stream) {
  launch(bitvector_decode<T>, tiles_of(call), kTileThreads, 0, stream, call.at<std::uint8_t>(0),
         call.at<std::uint32_t>(1), call.at<T>(2), call.at<T>(3), call["count"],
         static_cast<std::uint64_t>(call["nonzeros"]));
}
template <class T>
void launch_coo_encode(const Call& call, Stream stream) {
  clear(call.at<std::uint32_t>(4), scan_words(call["count"]), stream);
  launch(coo_encode<T>, tiles_of(call), kTileThreads, 0, stream, call.at<T>(0),
         call.at<std::uint32_t>(1), call.at<T>(2), call.at<std::uint32_t>(3),
         call.at<std::uint32_t>(4), call["count"], static_cast<unsigned>(call["nonzeros"]));
}
template <class T>
void launch_coo_decode(const Call& call, Stream stream) {
  const std::int64_t count = call["count"], places = call["nonzeros"];
  launch(fill_zeros<T>, blocks_for(count, kThreads * 8), kThreads, 0, stream, call.at<T>(2), count);
  if (places > 0)
    launch(scatter<T>, blocks_for(places, kThreads), kThreads, 0, stream, call.at<std::uint32_t>(0),
           call.at<T>(1), call.at<T>(2), count, places);
}

}  // namespace

void pack_bitvector_encode(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, launch_bitvector_encode, s);
}
void pack_bitvector_decode(const Call& c, Stream s) {
  PACELINE_BY_TYPE(c, launch_bitvector_decode, s);
}
void pack_coo_encode(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_coo_encode, s); }
void pack_coo_decode(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_coo_decode, s); }

}  // namespace paceline::kernels::PACELINE_TARGET
