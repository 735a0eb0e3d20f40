// SPDX-License-Identifier: Apache-2.0
#include "kernels/simt/mma.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace paceline::kernels::simt {
namespace {

/// Runs work(arguments of all 32 lanes) once per warp, before any lane goes on: the lane that runs
/// first after wait_for_warp does it while the others' arguments stand still.
template <class Lane, class Work>
void together(const Lane& mine, const Work& work) {
  std::uint64_t* slots = exchange();
  const unsigned lane = place().lane;
  slots[lane] = reinterpret_cast<std::uintptr_t>(&mine);
  wait_for_warp(0xffffffffU);
  if (slots[lane] == 0) return;  // done
  const Lane* lanes[32];
  for (unsigned i = 0; i < 32; ++i) {
    lanes[i] = reinterpret_cast<const Lane*>(static_cast<std::uintptr_t>(slots[i]));
    slots[i] = 0;
  }
  work(lanes);
}

template <class T>
float half(std::uint32_t word, unsigned upper) {
  T value;
  value.bits = static_cast<std::uint16_t>(word >> 16 * upper);
  return static_cast<float>(value);
}

/// Fragment layouts of kernels/mma.hpp.
template <class T>
void mma(const MmaLane& mine) {
  together(mine, [](const MmaLane* const(&lanes)[32]) {
    float a[16][16], b[16][8];
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned g = lane / 4, t = lane % 4;
      for (unsigned i = 0; i < 8; ++i)  // register i / 2, half i % 2
        a[g + i / 2 % 2 * 8][2 * t + i / 4 * 8 + i % 2] = half<T>(lanes[lane]->a[i / 2], i % 2);
      for (unsigned i = 0; i < 4; ++i)
        b[2 * t + i / 2 * 8 + i % 2][g] = half<T>(lanes[lane]->b[i / 2], i % 2);
    }
    for (unsigned row = 0; row < 16; ++row) {
      float sums[8] = {};
      for (unsigned k = 0; k < 16; ++k) {
        for (unsigned n = 0; n < 8; ++n) sums[n] += a[row][k] * b[k][n];
      }
      for (unsigned n = 0; n < 8; ++n)
        lanes[row % 8 * 4 + n / 2]->d[row / 8 * 2 + n % 2] += sums[n];
    }
  });
}

BankStatistics statistics;

/// Reads of 32 banks of 4 bytes that 8 rows of 16 bytes need: 1 unless two different rows share
/// one.
int reads_of(const unsigned char* const* rows) {
  int worst = 1, users[8] = {};
  for (unsigned i = 0; i < 8; ++i) {
    bool again = false;
    for (unsigned k = 0; k < i; ++k) again = again || rows[k] == rows[i];
    if (!again)
      worst = std::max(worst, ++users[reinterpret_cast<std::uintptr_t>(rows[i]) / 16 % 8]);
  }
  return worst;
}

struct MatrixLane {
  const unsigned char* row;
  std::uint32_t* result;
};

void ldmatrix(std::uint32_t* r, const void* row, bool transposed) {
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0) fail("ldmatrix needs rows at 16 bytes");
  const MatrixLane mine{static_cast<const unsigned char*>(row), r};
  together(mine, [transposed](const MatrixLane* const(&lanes)[32]) {
    for (unsigned m = 0; m < 4; ++m) {
      const unsigned char* rows[8];
      for (unsigned i = 0; i < 8; ++i) rows[i] = lanes[m * 8 + i]->row;
      ++statistics.reads;
      statistics.conflicts += reads_of(rows) - 1;
      for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned g = lane / 4, t = lane % 4;
        std::uint16_t halves[2];
        for (unsigned i = 0; i < 2; ++i) {
          const unsigned from = transposed ? 2 * t + i : g, column = transposed ? g : 2 * t + i;
          std::memcpy(&halves[i], rows[from] + 2 * column, 2);
        }
        lanes[lane]->result[m] = halves[0] | static_cast<std::uint32_t>(halves[1]) << 16;
      }
    }
  });
}

/// Of one thread; `group` counts up at every cp_async_commit.
struct Copy {
  unsigned char bytes[16];
  void* to;
  std::size_t size;
  int group;
};
struct Copies {
  std::vector<Copy> pending;
  int group = 0;
};

std::vector<Copies>& all_copies() {
  static thread_local std::vector<Copies> all(1024);
  return all;
}

/// Of the running thread, by its linear index.
Copies& copies() {
  const Place& p = place();
  return all_copies()[p.thread.x + p.block_size.x * (p.thread.y + p.block_size.y * p.thread.z)];
}

}  // namespace

void mma_bf16(const MmaLane& lane) { mma<numeric::bf16>(lane); }
void mma_fp16(const MmaLane& lane) { mma<numeric::fp16>(lane); }
void ldmatrix_x4(std::uint32_t (&r)[4], const void* row) { ldmatrix(r, row, false); }
void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row) { ldmatrix(r, row, true); }
const BankStatistics& bank_statistics() { return statistics; }

void start_copy(void* to, const void* from, std::size_t bytes, bool valid) {
  if (reinterpret_cast<std::uintptr_t>(to) % bytes != 0 ||
      (valid && reinterpret_cast<std::uintptr_t>(from) % bytes != 0))
    fail("cp_async needs both addresses aligned to its size");
  Copy copy{{}, to, bytes, copies().group};
  if (valid) std::memcpy(copy.bytes, from, bytes);
  std::memset(to, 0xee, bytes);
  copies().pending.push_back(copy);
}

bool copies_under_way() {
  return std::any_of(all_copies().begin(), all_copies().end(),
                     [](const Copies& c) { return !c.pending.empty(); });
}

void end_copy_group() { ++copies().group; }

void wait_for_copies(int pending) {
  Copies& mine = copies();
  std::erase_if(mine.pending, [&](const Copy& copy) {
    if (copy.group >= mine.group - pending) return false;
    std::memcpy(copy.to, copy.bytes, copy.size);
    return true;
  });
}

}  // namespace paceline::kernels::simt
