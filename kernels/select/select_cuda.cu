// SPDX-License-Identifier: Apache-2.0
#include "kernels/codec/compact.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/select/select.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMaxBins = 2048;

constexpr __device__ unsigned first_bin(int digit) {
  return digit == 0 ? 0U : 2048U + 1024U * static_cast<unsigned>(digit - 1);
}

/// What the histograms have told so far: the upper digits of the last key that is sent, and how
/// many of what has these digits are sent.
struct Found {
  std::uint32_t key, taken;
};

inline __device__ void clear_bins(unsigned* bins) {
  for (unsigned b = threadIdx.x; b < kMaxBins; b += kThreads) bins[b] = 0;
  __syncthreads();
}
inline __device__ void add_bins(const unsigned* bins, std::uint32_t* to, int digit) {
  __syncthreads();
  for (unsigned b = threadIdx.x; b < numeric::rank_bins(digit); b += kThreads) {
    if (bins[b] != 0) atomicAdd(to + first_bin(digit) + b, bins[b]);
  }
}

/// residual += gradient, and the histogram of the first digit.
template <class T>
__global__ void __launch_bounds__(kThreads)
    accumulate(const T* gradient, float* residual, std::uint32_t* histogram, std::int64_t count) {
  __shared__ unsigned bins[kMaxBins];
  clear_bins(bins);
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads * 4;
  for (std::int64_t first = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * 4; first < count;
       first += step) {
    const Pack<T, 4> now = load_up_to<T, 4>(gradient, first, count);
    Pack<float, 4> sums = load_up_to<float, 4>(residual, first, count);
    for (int i = 0; i < 4; ++i) {
      sums.at[i] += static_cast<float>(now.at[i]);
      if (first + i < count)
        atomicAdd(bins + numeric::rank_digit(numeric::rank_key(sums.at[i]), 0), 1U);
    }
    store_up_to(residual, first, sums, count);
  }
  add_bins(bins, histogram, 0);
}

/// The histogram of a later digit, of the keys that agree with what was found.
__global__ void __launch_bounds__(kThreads)
    count_digit(const float* residual, const Found* found, std::uint32_t* histogram, int digit,
                std::int64_t count) {
  __shared__ unsigned bins[kMaxBins];
  clear_bins(bins);
  const std::uint32_t prefix = found->key;
  const std::int64_t step = std::int64_t{gridDim.x} * kThreads * 4;
  for (std::int64_t first = (std::int64_t{blockIdx.x} * kThreads + threadIdx.x) * 4; first < count;
       first += step) {
    const Pack<float, 4> now = load_up_to<float, 4>(residual, first, count);
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t key = numeric::rank_key(now.at[i]);
      if (first + i < count && numeric::has_prefix(key, prefix, digit))
        atomicAdd(bins + numeric::rank_digit(key, digit), 1U);
    }
  }
  add_bins(bins, histogram, digit);
}

/// One warp: lane l looks at a share of the bins, the highest first, and the one in whose share the
/// last that is sent lies finds its bin.
__global__ void __launch_bounds__(32)
    find_digit(const std::uint32_t* histogram, Found* found, int digit, std::uint32_t kept) {
  const unsigned lane = threadIdx.x, all = numeric::rank_bins(digit), share = all / 32;
  const Found before = digit == 0 ? Found{0, kept} : *found;
  const std::uint32_t* bins = histogram + first_bin(digit);
  const unsigned top = all - 1 - lane * share;  // and down
  std::uint32_t own = 0;
  for (unsigned b = 0; b < share; ++b) own += bins[top - b];
  std::uint32_t sum = own;  // of this lane and those before
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint32_t other = __shfl_up_sync(0xffffffffU, sum, step);
    if (lane >= step) sum += other;
  }
  const unsigned reach = __ballot_sync(0xffffffffU, static_cast<int>(sum >= before.taken));
  const int chosen = reach == 0 ? 31 : __ffs(static_cast<int>(reach)) - 1;
  if (static_cast<int>(lane) != chosen) return;
  std::uint32_t taken = before.taken - (sum - own);
  unsigned b = 0;
  while (b + 1 < share && bins[top - b] < taken) taken -= bins[top - b++];
  *found = {before.key | (top - b) << numeric::rank_shift(digit), taken};
}

/// All keys above the one found, and the first `taken` of that key.
template <class T>
__global__ void __launch_bounds__(kTileThreads)
    collect(float* residual, const Found* found, std::uint32_t* indices, T* values,
            std::uint32_t* scan_memory, std::int64_t count) {
  const Scan scan = scan_at(scan_memory);
  const std::int64_t tile = take_tile(scan), first = warp_first(tile) + threadIdx.x % 32;
  const Found limit = *found;
  float mine[kPerThread];
  unsigned above[kPerThread], equal[kPerThread], own_above = 0, own_equal = 0;
  PACELINE_UNROLL
  for (int c = 0; c < kPerThread; ++c)
    mine[c] = first + 32 * c < count ? residual[first + 32 * c] : 0.0F;
  PACELINE_UNROLL
  for (int c = 0; c < kPerThread; ++c) {
    const std::uint32_t key = numeric::rank_key(mine[c]);
    const bool inside = first + 32 * c < count;
    above[c] = __ballot_sync(0xffffffffU, static_cast<int>(inside && key > limit.key));
    equal[c] = __ballot_sync(0xffffffffU, static_cast<int>(inside && key == limit.key));
    own_above += static_cast<unsigned>(__popc(above[c]));
    own_equal += static_cast<unsigned>(__popc(equal[c]));
  }
  const Counts start = warp_start(scan, tile, counts_of(own_above, own_equal));
  unsigned aboves = first_of(start), equals = second_of(start);
  PACELINE_UNROLL
  for (int c = 0; c < kPerThread; ++c) {
    const unsigned before = lanes_before(), bit = 1U << threadIdx.x % 32;
    const unsigned rank = equals + static_cast<unsigned>(__popc(equal[c] & before));
    const bool taken = (above[c] & bit) != 0 || ((equal[c] & bit) != 0 && rank < limit.taken);
    if (taken) {
      const unsigned place = aboves + static_cast<unsigned>(__popc(above[c] & before)) +
                             (rank < limit.taken ? rank : limit.taken);
      const T value = numeric::sent_value<T>(mine[c]);
      indices[place] = static_cast<std::uint32_t>(first + 32 * c);
      values[place] = value;
      residual[first + 32 * c] = mine[c] - static_cast<float>(value);
    }
    aboves += static_cast<unsigned>(__popc(above[c]));
    equals += static_cast<unsigned>(__popc(equal[c]));
  }
}

template <class T>
__global__ void __launch_bounds__(kTileThreads)
    take_threshold(const T* gradient, float* residual, const float* threshold,
                   std::uint32_t* indices, T* values, std::uint32_t* found,
                   std::uint32_t* scan_memory, std::int64_t count, unsigned capacity) {
  const Scan scan = scan_at(scan_memory);
  const std::int64_t tile = take_tile(scan), first = warp_first(tile) + threadIdx.x % 32;
  const std::uint32_t limit = numeric::magnitude_of(threshold[0]);
  float mine[kPerThread];
  PACELINE_UNROLL
  for (int c = 0; c < kPerThread; ++c) {
    const std::int64_t i = first + 32 * c;
    mine[c] = i < count ? static_cast<float>(gradient[i]) + residual[i] : 0.0F;
  }
  const Choice choice = choose(scan, tile, [&](int c) {
    return first + 32 * c < count && numeric::rank_key(mine[c]) >= limit;
  });
  for_chosen(choice, [&](int c, unsigned place) {
    if (place >= capacity) return;
    const T value = numeric::sent_value<T>(mine[c]);
    indices[place] = static_cast<std::uint32_t>(first + 32 * c);
    values[place] = value;
    mine[c] -= static_cast<float>(value);
  });
  PACELINE_UNROLL
  for (int c = 0; c < kPerThread; ++c) {
    if (first + 32 * c < count) residual[first + 32 * c] = mine[c];
  }
  if (is_last(tile, count)) found[0] = choice.end;
}

template <class T>
void launch_top_k(const Call& call, Stream stream) {
  const std::int64_t count = call["count"], kept = call["kept"];
  PACELINE_CHECK(kept <= count && count < std::int64_t{1} << 31);
  std::uint32_t* scan = call.at<std::uint32_t>(4);
  std::uint32_t* histogram = scan + scan_words(count);
  auto* found = reinterpret_cast<Found*>(histogram + kSelectBins);
  const unsigned grid = blocks_for(count, kThreads * 16);
  clear(scan, top_k_words(count), stream);
  launch(accumulate<T>, grid, kThreads, 0, stream, call.at<T>(0), call.at<float>(1), histogram,
         count);
  for (int digit = 0; digit < numeric::kRankDigits; ++digit) {
    if (digit > 0)
      launch(count_digit, grid, kThreads, 0, stream, call.at<float>(1), found, histogram, digit,
             count);
    launch(find_digit, 1, 32, 0, stream, histogram, found, digit, static_cast<std::uint32_t>(kept));
  }
  if (kept == 0) return;
  launch(collect<T>, static_cast<unsigned>(numeric::bitvector_tiles(count)), kTileThreads, 0,
         stream, call.at<float>(1), found, call.at<std::uint32_t>(2), call.at<T>(3), scan, count);
}
template <class T>
void launch_threshold(const Call& call, Stream stream) {
  const std::int64_t count = call["count"];
  PACELINE_CHECK(count < std::int64_t{1} << 31);
  std::uint32_t* scan = call.at<std::uint32_t>(6);
  clear(scan, scan_words(count), stream);
  launch(take_threshold<T>, static_cast<unsigned>(numeric::bitvector_tiles(count)), kTileThreads, 0,
         stream, call.at<T>(0), call.at<float>(1), call.at<float>(2), call.at<std::uint32_t>(3),
         call.at<T>(4), call.at<std::uint32_t>(5), scan, count,
         static_cast<unsigned>(call["capacity"]));
}

}  // namespace

void select_top_k(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_top_k, s); }
void select_threshold(const Call& c, Stream s) { PACELINE_BY_TYPE(c, launch_threshold, s); }

}  // namespace paceline::kernels::PACELINE_TARGET
