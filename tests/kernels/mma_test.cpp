// SPDX-License-Identifier: Apache-2.0
// Tensor-core and copy instructions in the SIMT shim against the tables of the PTX ISA, written
// down here once more.
#include "kernels/mma.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "base/distributions.hpp"
#include "base/rng.hpp"
#include "tests/kernels/abort.hpp"

using namespace paceline::kernels;
using namespace paceline::kernels::simt;
using paceline::numeric::bf16;
using paceline::numeric::fp16;

namespace {

template <class T>
std::uint32_t word(const T& low, const T& high) {
  return low.bits | static_cast<std::uint32_t>(high.bits) << 16;
}

/// d [16][8] += a [16][16] b [16][8], row-major, by the rows and columns that the PTX ISA gives for
/// element i of a lane's fragments (mma.m16n8k16, figures of matrices A, B and C).
template <class T>
__global__ void multiply(const T* a, const T* b, float* d) {
  const unsigned group = threadIdx.x >> 2, in_group = threadIdx.x & 3;
  const auto a_at = [&](unsigned i) {
    const unsigned row = i < 2 || (i >= 4 && i < 6) ? group : group + 8;
    const unsigned column = i < 4 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8;
    return a[row * 16 + column];
  };
  const auto b_at = [&](unsigned i) {
    const unsigned row = i < 2 ? in_group * 2 + (i & 1) : in_group * 2 + (i & 1) + 8;
    return b[row * 8 + group];
  };
  const auto d_at = [&](unsigned i) -> float& {
    return d[(i < 2 ? group : group + 8) * 8 + in_group * 2 + (i & 1)];
  };
  const std::uint32_t fa[4] = {word(a_at(0), a_at(1)), word(a_at(2), a_at(3)),
                               word(a_at(4), a_at(5)), word(a_at(6), a_at(7))};
  float fd[4] = {d_at(0), d_at(1), d_at(2), d_at(3)};
  mma_m16n8k16<T>(fd, fa, word(b_at(0), b_at(1)), word(b_at(2), b_at(3)));
  for (unsigned i = 0; i < 4; ++i) d_at(i) = fd[i];
}

template <class T>
void check_multiply() {
  paceline::base::Rng rng(5);
  const auto random = [&](std::size_t count) {
    std::vector<T> values;
    for (std::size_t i = 0; i < count; ++i)
      values.emplace_back(static_cast<float>(paceline::base::standard_normal(rng)));
    return values;
  };
  const std::vector<T> a = random(256), b = random(128);
  std::vector<float> d(128);
  for (std::size_t i = 0; i < d.size(); ++i) d[i] = static_cast<float>(i);
  launch(multiply<T>, 1, 32, 0, {}, a.data(), b.data(), d.data());
  for (std::size_t row = 0; row < 16; ++row) {
    for (std::size_t column = 0; column < 8; ++column) {
      double wanted = static_cast<double>(row * 8 + column);
      for (std::size_t k = 0; k < 16; ++k)
        wanted += double{static_cast<float>(a[row * 16 + k])} *
                  double{static_cast<float>(b[k * 8 + column])};
      CHECK(d[row * 8 + column] == Approx(wanted).margin(1e-5));
    }
  }
}

/// Four matrices of 8 rows with `stride` elements between them; the lane's registers to `out`.
__global__ void load_matrices(const std::uint16_t* elements, int stride, bool transposed,
                              std::uint32_t* out) {
  auto* const shared = dynamic_shared<std::uint16_t>();
  for (int i = static_cast<int>(threadIdx.x); i < 32 * stride; i += 32) shared[i] = elements[i];
  __syncthreads();
  std::uint32_t r[4];
  const std::uint16_t* const row = shared + static_cast<int>(threadIdx.x) * stride;
  transposed ? ldmatrix_x4_trans(r, row) : ldmatrix_x4(r, row);
  for (unsigned i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = r[i];
}

std::int64_t conflicts(int stride) {
  std::vector<std::uint16_t> elements(static_cast<std::size_t>(32 * stride));
  std::vector<std::uint32_t> out(128);
  const std::int64_t before = bank_statistics().conflicts;
  launch(load_matrices, 1, 32, 2 * elements.size(), {}, elements.data(), stride, false, out.data());
  return bank_statistics().conflicts - before;
}

/// What a thread sees of a copy of Bytes before its group is waited for, and after.
template <int Bytes>
__global__ void copy(const unsigned char* from, bool valid, unsigned char* before,
                     unsigned char* after) {
  auto* const shared = dynamic_shared<unsigned char>();
  cp_async<Bytes>(shared, from, valid);
  cp_async_commit();
  cp_async_commit();  // an empty group after it
  cp_async_wait<2>();
  std::memcpy(before, shared, Bytes);
  cp_async_wait<1>();
  std::memcpy(after, shared, Bytes);
}

template <int Bytes>
void check_copy() {
  alignas(16) unsigned char from[Bytes], before[Bytes], after[Bytes];
  for (int i = 0; i < Bytes; ++i) from[i] = static_cast<unsigned char>(i + 1);
  for (const bool valid : {true, false}) {
    launch(copy<Bytes>, 1, 1, 16, {}, &from[0], valid, &before[0], &after[0]);
    for (int i = 0; i < Bytes; ++i) {
      CHECK(before[i] == 0xee);
      CHECK(after[i] == (valid ? from[i] : 0));
    }
  }
}

__global__ void forget_copy(const int* from) {
  cp_async<4>(dynamic_shared<int>(), from, true);
  cp_async_commit();
}
__global__ void misalign(const int* from) { cp_async<8>(dynamic_shared<int>() + 1, from, true); }

}  // namespace

TEST_CASE("mma multiplies the matrices of its fragments", "[simt]") {
  check_multiply<bf16>();
  check_multiply<fp16>();
}

TEST_CASE("ldmatrix gives each lane its pairs of elements, of rows or of columns", "[simt]") {
  std::vector<std::uint16_t> elements(32 * 8);
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<std::uint16_t>(i);
  std::vector<std::uint32_t> rows(128), columns(128);
  launch(load_matrices, 1, 32, 512, {}, elements.data(), 8, false, rows.data());
  launch(load_matrices, 1, 32, 512, {}, elements.data(), 8, true, columns.data());
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned m = 0; m < 4; ++m) {
      const unsigned first = m * 64, row = lane / 4, column = lane % 4 * 2;
      const unsigned along = first + row * 8 + column, down = first + column * 8 + row;
      CHECK(rows[lane * 4 + m] == (along | (along + 1) << 16));
      CHECK(columns[lane * 4 + m] == (down | (down + 8) << 16));
    }
  }
}

TEST_CASE("bank conflicts are those of 32 banks of 4 bytes", "[simt]") {
  CHECK(conflicts(8) == 0);       // rows side by side
  CHECK(conflicts(64) == 4 * 7);  // 128 bytes apart: 8 rows in one bank, 4 matrices
  CHECK(conflicts(16) == 4 * 1);  // 32 bytes apart: two rows share each
  CHECK(conflicts(72) == 0);      // padded by 16 bytes
}

TEST_CASE("asynchronous copies arrive when they are waited for, zeros where not valid", "[simt]") {
  check_copy<4>();
  check_copy<8>();
  check_copy<16>();
}

TEST_CASE("copies that nobody waits for, and misaligned ones, stop the program", "[simt]") {
  const int value[4] = {};
  CHECK_THAT(message_of_abort([&] { launch(forget_copy, 1, 1, 16, {}, value); }),
             Catch::Contains("without waiting for its asynchronous copies"));
  CHECK_THAT(message_of_abort([&] { launch(misalign, 1, 1, 16, {}, value); }),
             Catch::Contains("aligned to its size"));
}

TEST_CASE("packing rounds two values to their halves", "[simt]") {
  for (const float x : {1.0F, -0.3333333F, 65504.0F, 1e-7F, 3.1415927F}) {
    CHECK(pack<bf16>(x, -2 * x) == word(bf16(x), bf16(-2 * x)));
    CHECK(pack<fp16>(x, -2 * x) == word(fp16(x), fp16(-2 * x)));
  }
}
