// SPDX-License-Identifier: Apache-2.0
#pragma once
/// kernels/mma.hpp for the SIMT shim: what the instructions do, by their description in the PTX
/// ISA, and what they leave undefined made visible. The last lane to arrive does the warp's work.
#include <cstddef>
#include <cstdint>

#include "base/numeric/float_formats.hpp"
#include "kernels/simt/simt.hpp"

namespace paceline::kernels::simt {

/// A lane's registers in an mma, and where its results go.
struct MmaLane {
  const std::uint32_t* a;
  std::uint32_t b[2];
  float* d;
};
/// Of all 32 lanes.
void mma_bf16(const MmaLane& lane);
void mma_fp16(const MmaLane& lane);

template <class T>
void mma_m16n8k16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);
template <>
inline void mma_m16n8k16<numeric::bf16>(float (&d)[4], const std::uint32_t (&a)[4],
                                        std::uint32_t b0, std::uint32_t b1) {
  mma_bf16({a, {b0, b1}, d});
}
template <>
inline void mma_m16n8k16<numeric::fp16>(float (&d)[4], const std::uint32_t (&a)[4],
                                        std::uint32_t b0, std::uint32_t b1) {
  mma_fp16({a, {b0, b1}, d});
}

/// Stop the test when an address is not aligned to 16 bytes.
void ldmatrix_x4(std::uint32_t (&r)[4], const void* row);
void ldmatrix_x4_trans(std::uint32_t (&r)[4], const void* row);

/// How often ldmatrix ran since the program started, counted in groups of 8 rows that hardware
/// reads at once, and how many more reads it took because rows of a group met in a bank.
struct BankStatistics {
  std::int64_t reads = 0, conflicts = 0;
};
const BankStatistics& bank_statistics();

/// The destination holds 0xee bytes until this thread has waited: a copy lands as late as it may.
void start_copy(void* to, const void* from, std::size_t bytes, bool valid);
void end_copy_group();
void wait_for_copies(int pending);
/// Of any thread.
bool copies_under_way();

template <int Bytes>
void cp_async(void* to, const void* from, bool valid) {
  static_assert(Bytes == 4 || Bytes == 8 || Bytes == 16);
  start_copy(to, from, Bytes, valid);
}
inline void cp_async_commit() { end_copy_group(); }
template <int Pending>
void cp_async_wait() {
  wait_for_copies(Pending);
}

template <class T>
std::uint32_t pack(float lo, float hi) {
  return T(lo).bits | static_cast<std::uint32_t>(T(hi).bits) << 16;
}

}  // namespace paceline::kernels::simt
