// SPDX-License-Identifier: Apache-2.0
// The shim that runs CUDA's source on the processor: what it computes, and that it stops kernels
// whose threads do not agree.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

#include "kernels/device_code.hpp"

using namespace paceline::kernels;
using namespace paceline::kernels::simt;

namespace {

constexpr std::uint32_t kAll = 0xffffffffU;

__global__ void mark_places(int* count, int* place) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned i = block * blockDim.x * blockDim.y * blockDim.z + thread;
  ++count[i];
  place[i] = static_cast<int>(100 * block + thread);
}

struct Shuffled {
  int of, from_xor, from_up, from_down, from_xor8, from_up8;
};
__global__ void shuffle_all(Shuffled* out) {
  const int lane = static_cast<int>(threadIdx.x);
  Shuffled& mine = out[lane];
  mine.of = __shfl_sync(kAll, 10 * lane, 7);
  mine.from_xor = __shfl_xor_sync(kAll, 10 * lane, 5);
  mine.from_up = __shfl_up_sync(kAll, 10 * lane, 3);
  mine.from_down = __shfl_down_sync(kAll, 10 * lane, 3);
  mine.from_xor8 = __shfl_xor_sync(kAll, 10 * lane, 4, 8);
  mine.from_up8 = __shfl_up_sync(kAll, 10 * lane, 3, 8);
}

/// The odd lanes of each warp alone.
__global__ void vote(std::uint32_t* odd, int* any, int* all) {
  if (threadIdx.x % 2 == 0) return;
  constexpr std::uint32_t kOdd = 0xaaaaaaaaU;
  odd[threadIdx.x] = __ballot_sync(kOdd, threadIdx.x % 3 == 0 ? 1 : 0);
  any[threadIdx.x] = __any_sync(kOdd, threadIdx.x == 9 ? 1 : 0);
  all[threadIdx.x] = __all_sync(kOdd, threadIdx.x != 9 ? 1 : 0);
}

__global__ void add_atomically(int* sum, int* max, int* min, unsigned* bits, int* last, int* won) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(sum, i);
  atomicMax(max, i);
  atomicMin(min, i);
  atomicOr(bits, 1U << i % 32);
  atomicExch(last, i);
  if (atomicCAS(won, -1, i) == -1) atomicAdd(sum, 1000000);
}

__global__ void sum_blocks(const float* x, float* sums, float* maxima) {
  __shared__ float scratch[32];
  const float value = x[threadIdx.x];
  sums[threadIdx.x] = block_sum(value, scratch) + block_sum(2 * value, scratch);
  maxima[threadIdx.x] = block_max(-value, scratch);
}

__global__ void reverse(int* x, int* poison) {
  int* shared = dynamic_shared<int>();
  const unsigned t = threadIdx.x, n = blockDim.x;
  if (t == 0) *poison = shared[n - 1];
  __syncthreads();
  shared[t] = x[blockIdx.x * n + t];
  __syncthreads();
  x[blockIdx.x * n + t] = shared[n - 1 - t];
}

/// Each thread hands its number to the next one or the one before, with a barrier or without.
__global__ void hand_over(int* got, int distance, int with_barrier) {
  int* shared = dynamic_shared<int>();
  const unsigned t = threadIdx.x, n = blockDim.x;
  shared[t] = static_cast<int>(t);
  if (with_barrier != 0) __syncthreads();
  const unsigned from = (t + n + static_cast<unsigned>(distance)) % n;
  got[blockIdx.x * n + t] = shared[from] == static_cast<int>(from) ? 1 : 0;
}
/// Of `blocks` blocks, those in which every thread of 0 < t < n - 1 got its neighbour's number.
int blocks_that_worked(int distance, bool with_barrier) {
  constexpr unsigned kBlocks = 40, kThreads = 64;
  std::vector<int> got(kBlocks * kThreads);
  launch(hand_over, kBlocks, kThreads, kThreads * sizeof(int), {}, got.data(), distance,
         with_barrier ? 1 : 0);
  int result = 0;
  for (unsigned b = 0; b < kBlocks; ++b) {
    const auto first = got.begin() + b * kThreads;
    result += std::accumulate(first + 1, first + kThreads - 1, 0) == kThreads - 2 ? 1 : 0;
  }
  return result;
}

__global__ void diverge_at_barriers(int) {
  if (threadIdx.x < 32) {
    __syncthreads();
  } else {
    __syncthreads();
  }
}
__global__ void skip_one_of_two_barriers(int) {
  if (threadIdx.x != 5) __syncthreads();
  __syncthreads();
}
__global__ void skip_warp_barrier(int) {
  if (threadIdx.x == 3) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}
__global__ void shuffle_with_ended(int* x) {
  if (threadIdx.x == 4) return;
  *x = __shfl_sync(kAll, *x, 0);
}
__global__ void shuffle_outside_mask(int* x) { *x = __shfl_sync(0xffU, *x, 0); }
__global__ void load_misaligned(int* x) {
  uint4 value = __ldg(reinterpret_cast<const uint4*>(x + 1));
  x[0] = static_cast<int>(value.x);
}

/// What a child process wrote before it aborted; empty if it did not.
template <class F>
std::string message_of_abort(const F& run) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);  // not the test framework's
    dup2(ends[1], STDERR_FILENO);
    run();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? text : "";
}

}  // namespace

TEST_CASE("each thread of a grid runs once and knows its place", "[simt]") {
  const dim3 grid(2, 3, 2), block(4, 3, 2);
  std::vector<int> count(12 * 24), place(12 * 24);
  launch(mark_places, grid, block, 0, {}, count.data(), place.data());
  for (int i = 0; i < 12 * 24; ++i) {
    CHECK(count[static_cast<std::size_t>(i)] == 1);
    CHECK(place[static_cast<std::size_t>(i)] == 100 * (i / 24) + i % 24);
  }
}

TEST_CASE("a grid without blocks runs nothing", "[simt]") {
  int count = 0, place = 0;
  launch(mark_places, dim3(0), dim3(32), 0, {}, &count, &place);
  CHECK(count == 0);
}

TEST_CASE("shuffles move values between lanes as CUDA says", "[simt]") {
  std::vector<Shuffled> out(32);
  launch(shuffle_all, 1, 32, 0, {}, out.data());
  for (int lane = 0; lane < 32; ++lane) {
    const Shuffled& got = out[static_cast<std::size_t>(lane)];
    CHECK(got.of == 70);
    CHECK(got.from_xor == 10 * (lane ^ 5));
    CHECK(got.from_up == 10 * (lane >= 3 ? lane - 3 : lane));  // beyond the ends: one's own
    CHECK(got.from_down == 10 * (lane + 3 < 32 ? lane + 3 : lane));
    CHECK(got.from_xor8 == 10 * (lane ^ 4));
    CHECK(got.from_up8 == 10 * (lane % 8 >= 3 ? lane - 3 : lane));
  }
}

TEST_CASE("votes count the lanes of their mask", "[simt]") {
  std::vector<std::uint32_t> odd(32);
  std::vector<int> any(32), all(32);
  launch(vote, 1, 32, 0, {}, odd.data(), any.data(), all.data());
  std::uint32_t wanted = 0;
  for (unsigned lane = 1; lane < 32; lane += 2) wanted |= lane % 3 == 0 ? 1U << lane : 0U;
  for (std::size_t lane = 0; lane < 32; ++lane) {
    CHECK(odd[lane] == (lane % 2 == 1 ? wanted : 0));
    CHECK(any[lane] == static_cast<int>(lane % 2));
    CHECK(all[lane] == 0);
  }
}

TEST_CASE("atomic updates of many threads all arrive", "[simt]") {
  int sum = 0, max = -1, min = 1 << 20, last = -1, won = -1;
  unsigned bits = 0;
  launch(add_atomically, 3, 100, 0, {}, &sum, &max, &min, &bits, &last, &won);
  CHECK(sum == 300 * 299 / 2 + 1000000);  // one thread won the exchange
  CHECK(max == 299);
  CHECK(min == 0);
  CHECK(bits == kAll);
  CHECK((last >= 0 && last < 300));
  CHECK((won >= 0 && won < 300));
}

TEST_CASE("block sums and maxima reach every thread", "[simt]") {
  const unsigned threads = GENERATE(32U, 64U, 96U, 1024U);
  std::vector<float> x(threads), sums(threads), maxima(threads);
  for (std::size_t i = 0; i < threads; ++i) x[i] = static_cast<float>(i % 50) + 3;
  launch(sum_blocks, 1, threads, 0, {}, x.data(), sums.data(), maxima.data());
  const float sum = std::accumulate(x.begin(), x.end(), 0.0F);
  CHECK(std::count(sums.begin(), sums.end(), 3 * sum) == threads);
  CHECK(std::count(maxima.begin(), maxima.end(), -3.0F) == threads);
}

TEST_CASE("dynamic shared memory is poisoned for each block and shared in it", "[simt]") {
  std::vector<int> x(3 * 40);
  std::iota(x.begin(), x.end(), 0);
  int poison = 0;
  launch(reverse, 3, 40, 40 * sizeof(int), {}, x.data(), &poison);
  for (int i = 0; i < 120; ++i) CHECK(x[static_cast<std::size_t>(i)] == i / 40 * 40 + 39 - i % 40);
  CHECK(poison == static_cast<int>(0xeeeeeeeeU));
}

TEST_CASE("a missing barrier shows, whichever neighbour is read", "[simt]") {
  CHECK(blocks_that_worked(1, true) == 40);
  CHECK(blocks_that_worked(-1, true) == 40);
  CHECK(blocks_that_worked(1, false) < 30);
  CHECK(blocks_that_worked(-1, false) < 30);
}

TEST_CASE("threads that do not agree stop the test", "[simt]") {
  alignas(16) int x[8] = {};
  const auto run = [](auto* kernel, unsigned threads, auto argument) {
    return message_of_abort([&] { launch(kernel, 1, threads, 0, {}, argument); });
  };
  CHECK(run(diverge_at_barriers, 64, 0) == "simt: threads of a block wait at different barriers\n");
  CHECK(run(skip_one_of_two_barriers, 64, 0) ==
        "simt: threads of a block wait at different barriers\n");
  CHECK(run(skip_warp_barrier, 32, 0) == "simt: threads wait for others that never come\n");
  CHECK(run(shuffle_with_ended, 32, &x[0]) == "simt: a mask names a thread that has ended\n");
  CHECK(run(shuffle_with_ended, 16, &x[0]) == "simt: a mask names a thread that has ended\n");
  CHECK(run(shuffle_outside_mask, 32, &x[0]) == "simt: a thread is not in its own mask\n");
  CHECK(run(load_misaligned, 1, &x[0]) == "simt: a misaligned load\n");
  CHECK(run(shuffle_outside_mask, 1025, &x[0]) == "simt: a block has 1 to 1024 threads\n");
  CHECK(run(shuffle_outside_mask, 8, &x[0]).empty());  // this one is right
}
