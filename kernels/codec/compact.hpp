// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/sparse_codes.hpp"
#include "kernels/codec/device.hpp"
#include "kernels/codec/scan_words.hpp"

/// Places for chosen elements of an array in order of index, in one pass over it. Tiles count what
/// they chose, and find what was chosen before them while all of them run (Merrill and Garland,
/// Single-pass parallel prefix scan with decoupled look-back, NVR-2016-002). Two things can be
/// counted at a time. Counts of up to 2^31 - 1.
namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr int kTileThreads = 256, kTileWarps = kTileThreads / 32, kPerThread = 16;
constexpr std::int64_t kTile = std::int64_t{kTileThreads} * kPerThread;
static_assert(kTile == numeric::kSparseTileElements);

/// Two counts in one number.
using Counts = unsigned long long;
constexpr __device__ Counts counts_of(unsigned first, unsigned second) {
  return Counts{first} | Counts{second} << 31;
}
constexpr __device__ unsigned first_of(Counts counts) {
  return static_cast<unsigned>(counts & 0x7fffffffU);
}
constexpr __device__ unsigned second_of(Counts counts) {
  return static_cast<unsigned>(counts >> 31 & 0x7fffffffU);
}

/// Memory of a scan: a number per tile and a ticket, all 0 before.
struct Scan {
  volatile Counts* states;
  unsigned* ticket;
};
/// In scan_words(count) words.
inline __device__ Scan scan_at(std::uint32_t* words) {
  auto* states = reinterpret_cast<Counts*>(words);
  return {states + 1, reinterpret_cast<unsigned*>(states)};
}

// The upper two bits of a state: the rest is this tile's counts, or with all before it.
enum : Counts { kOwn = Counts{1} << 62, kAll = Counts{2} << 62, kState = Counts{3} << 62 };

/// Tiles are taken in order, so that every tile waits only for tiles that run or have ended.
inline __device__ std::int64_t take_tile(const Scan& scan) {
  __shared__ unsigned tile;
  if (threadIdx.x == 0) tile = atomicAdd(scan.ticket, 1U);
  __syncthreads();
  return tile;
}

/// Counts of all tiles before `tile`, which has `own`, in all threads of a warp, which is whole.
inline __device__ Counts counts_before(const Scan& scan, std::int64_t tile, Counts own) {
  constexpr unsigned kFull = 0xffffffffU;
  const int lane = static_cast<int>(threadIdx.x % 32);
  if (lane == 0) scan.states[tile] = own | (tile == 0 ? Counts{kAll} : Counts{kOwn});
  Counts before = 0;
  for (std::int64_t last = tile - 1; last >= 0; last -= 32) {
    Counts state = last >= lane ? scan.states[last - lane] : Counts{kAll};
    while (__any_sync(kFull, static_cast<int>((state & kState) == 0)) != 0)
      state = last >= lane ? scan.states[last - lane] : Counts{kAll};
    const unsigned all = __ballot_sync(kFull, static_cast<int>((state & kState) == kAll));
    const int stop = all == 0 ? 31 : __ffs(static_cast<int>(all)) - 1;
    before += warp_sum(lane <= stop ? state & ~kState : Counts{0});
    if (all != 0) break;
  }
  if (lane == 0 && tile > 0) scan.states[tile] = (before + own) | kAll;
  return before;
}

/// Where a warp's counts start among those of all tiles; `own`: of the warp, in its first lane.
inline __device__ Counts warp_start(const Scan& scan, std::int64_t tile, Counts own) {
  __shared__ Counts of_warp[kTileWarps];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) of_warp[warp] = own;
  __syncthreads();
  if (warp == 0) {
    Counts total = 0;
    for (int w = 0; w < kTileWarps; ++w) total += of_warp[w];
    Counts start = counts_before(scan, tile, total);
    if (lane == 0) {
      for (int w = 0; w < kTileWarps; ++w) {
        const Counts mine = of_warp[w];
        of_warp[w] = start;
        start += mine;
      }
    }
  }
  __syncthreads();
  return of_warp[warp];
}

/// First element of a warp in its tile; its lane l has elements l, 32 + l, 64 + l ...
inline __device__ std::int64_t warp_first(std::int64_t tile) {
  return tile * kTile + std::int64_t{threadIdx.x / 32} * 32 * kPerThread;
}
/// Bits of the lanes before this one.
inline __device__ unsigned lanes_before() { return (1U << threadIdx.x % 32) - 1; }

/// What a warp chose among its elements: bits of its lanes in every round, places from `start` to
/// before `end`.
struct Choice {
  unsigned masks[kPerThread];
  unsigned start, end;
};
template <class Wanted>
__device__ Choice choose(const Scan& scan, std::int64_t tile, const Wanted& wanted) {
  Choice choice;
  unsigned own = 0;
  PACELINE_UNROLL
  for (int c = 0; c < kPerThread; ++c) {
    choice.masks[c] = __ballot_sync(0xffffffffU, static_cast<int>(wanted(c)));
    own += static_cast<unsigned>(__popc(choice.masks[c]));
  }
  choice.start = first_of(warp_start(scan, tile, counts_of(own, 0)));
  choice.end = choice.start + own;
  return choice;
}
/// Calls chosen(round, place) for what this thread chose.
template <class Chosen>
__device__ void for_chosen(const Choice& choice, const Chosen& chosen) {
  unsigned place = choice.start;
  PACELINE_UNROLL
  for (int c = 0; c < kPerThread; ++c) {
    const unsigned mask = choice.masks[c];
    if ((mask >> threadIdx.x % 32 & 1U) != 0)
      chosen(c, place + static_cast<unsigned>(__popc(mask & lanes_before())));
    place += static_cast<unsigned>(__popc(mask));
  }
}
/// One thread of the grid: the last of the last tile. Its choice ends where all choices end.
inline __device__ bool is_last(std::int64_t tile, std::int64_t count) {
  return tile == (count - 1) / kTile && threadIdx.x == kTileThreads - 1;
}

__global__ void __launch_bounds__(256) clear_words(std::uint32_t* words, std::int64_t count) {
  for (std::int64_t i = std::int64_t{blockIdx.x} * 256 + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * 256)
    words[i] = 0;
}
inline void clear(std::uint32_t* words, std::int64_t count, Stream stream) {
  launch(clear_words, blocks_for(count, 256), 256, 0, stream, words, count);
}

}  // namespace
}  // namespace paceline::kernels::PACELINE_TARGET
