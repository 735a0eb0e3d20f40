// SPDX-License-Identifier: Apache-2.0
// Reductions of encoded values against plain loops, and times of collectives.
#include "kernels/collective/compressed.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "base/error.hpp"
#include "kernels/collective/measure.hpp"
#include "tests/ranks/world.hpp"

using namespace paceline::kernels;
using paceline::numeric::fp16;
using paceline::tests::world;

namespace {

template <class T>
Tensor tensor(std::vector<T>& values, DType type) {
  return {values.data(), type, std::ssize(values)};
}
Tensor floats(std::vector<float>& values) { return tensor(values, DType::F32); }
Tensor bytes(std::vector<std::uint8_t>& values) { return tensor(values, DType::U8); }

/// Whole numbers other than 0, of both signs.
float value(int rank, std::int64_t i) {
  const auto k = static_cast<int>((5 * i + 3 * rank) % 8);
  return static_cast<float>(k < 4 ? k - 4 : k - 3);
}
std::vector<float> own_values(std::int64_t count) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(value(world().rank(), i));
  return values;
}
float sum(std::int64_t i) {
  float result = 0;
  for (int r = 0; r < world().size(); ++r) result += value(r, i);
  return result;
}

void encode_fp16(const Tensor& from, const Tensor& code, Stream) {
  for (std::int64_t i = 0; i < from.count; ++i) code.as<fp16>()[i] = fp16(from.as<float>()[i]);
}
void decode_fp16(const Tensor& code, const Tensor& to, Stream) {
  for (std::int64_t i = 0; i < to.count; ++i)
    to.as<float>()[i] = static_cast<float>(code.as<fp16>()[i]);
}
void decode_add_fp16(const Tensor& code, const Tensor& to, Stream) {
  for (std::int64_t i = 0; i < to.count; ++i)
    to.as<float>()[i] += static_cast<float>(code.as<fp16>()[i]);
}

}  // namespace

TEST_CASE("packed signs are gathered and vote", "[ranks]") {
  const std::int64_t count = GENERATE(1, 8, 77);
  const std::vector<float> mine = own_values(count);
  const auto wire_bytes = static_cast<std::size_t>((count + 7) / 8);
  std::vector<std::uint8_t> wire(wire_bytes),
      gathered(wire_bytes * static_cast<std::size_t>(world().size()));
  std::vector<int> votes(static_cast<std::size_t>(count));
  gathered_all_reduce(
      world(), bytes(wire), bytes(gathered),
      [&](const Tensor& out, Stream) {
        for (std::size_t i = 0; i < mine.size(); ++i)
          if (mine[i] < 0)
            out.as<std::uint8_t>()[i / 8] |= static_cast<std::uint8_t>(1U << (i % 8));
      },
      [&](const Tensor& all, int ranks, Stream) {
        for (std::size_t i = 0; i < votes.size(); ++i)
          for (int r = 0; r < ranks; ++r)
            votes[i] += (all.as<std::uint8_t>()[static_cast<std::size_t>(r) * wire_bytes + i / 8] >>
                         (i % 8)) &
                        1;
      });
  for (std::int64_t i = 0; i < count; ++i) {
    int expected = 0;
    for (int r = 0; r < world().size(); ++r) expected += value(r, i) < 0 ? 1 : 0;
    CHECK(votes[static_cast<std::size_t>(i)] == expected);
  }
}

TEST_CASE("parts are reduced encoded, and their sums gathered encoded", "[ranks]") {
  const std::int64_t part = GENERATE(0, 1, 33);
  const int n = world().size();
  std::vector<float> values = own_values(part * n);
  std::vector<float> total(static_cast<std::size_t>(part));
  std::vector<std::uint8_t> out(static_cast<std::size_t>(2 * part * n)), in = out;
  compressed_all_reduce(world(), floats(values), 2 * part, {bytes(out), bytes(in), floats(total)},
                        encode_fp16, decode_fp16, decode_add_fp16);
  for (std::int64_t i = 0; i < part * n; ++i) {
    INFO(i << " of " << part * n);
    CHECK(values[static_cast<std::size_t>(i)] == sum(i));
  }
}

TEST_CASE("codes that can be added are", "[ranks]") {
  std::vector<float> values = own_values(100);
  std::vector<fp16> code(100);
  coded_all_reduce(world(), floats(values), tensor(code, DType::F16), encode_fp16, decode_fp16);
  for (std::int64_t i = 0; i < 100; ++i) CHECK(values[static_cast<std::size_t>(i)] == sum(i));
}

TEST_CASE("selected values of all ranks are added where they belong", "[ranks]") {
  constexpr std::int64_t kCount = 50;
  const int me = world().rank(), n = world().size();
  // Every (rank+2)-th value; rank 1 selects none.
  const auto selects = [](int rank, std::int64_t i) { return rank != 1 && i % (rank + 2) == 0; };
  std::vector<std::uint32_t> indices, all_indices(static_cast<std::size_t>(kCount * n));
  std::vector<float> values, all_values(static_cast<std::size_t>(kCount * n));
  for (std::int64_t i = 0; i < kCount; ++i) {
    if (!selects(me, i)) continue;
    indices.push_back(static_cast<std::uint32_t>(i));
    values.push_back(value(me, i));
  }
  const Sparse own{tensor(indices, DType::U32), floats(values)};
  std::vector<float> total(kCount);
  const auto add = [&](const Sparse& all, std::span<const std::int64_t>, Stream) {
    for (std::int64_t k = 0; k < all.values.count; ++k)
      total[all.indices.as<std::uint32_t>()[k]] += all.values.as<float>()[k];
  };
  const std::vector<std::int64_t> counts =
      sparse_all_reduce(world(), own, {tensor(all_indices, DType::U32), floats(all_values)}, add);
  CHECK(counts[0] == 25);
  if (n > 1) CHECK(counts[1] == 0);
  for (std::int64_t i = 0; i < kCount; ++i) {
    float expected = 0;
    for (int r = 0; r < n; ++r) expected += selects(r, i) ? value(r, i) : 0;
    CHECK(total[static_cast<std::size_t>(i)] == expected);
  }
  all_indices.resize(3);
  all_values.resize(3);
  CHECK_THROWS_AS(
      sparse_all_reduce(world(), own, {tensor(all_indices, DType::U32), floats(all_values)}, add),
      paceline::base::Error);
}

TEST_CASE("collectives are measured alike on all ranks", "[ranks]") {
  using paceline::base::Seconds;
  for (const CollectiveKind kind : kCollectiveKinds) {
    for (const DType type : {DType::F32, DType::Bf16}) {
      const CollectiveOptions options{type, 3, Seconds(1e-4), Seconds(0.05), 7};
      const CollectiveMeasurement m =
          measure_collective(kind, 4097, world(), cpu_backend(), options);
      CHECK(m.size.value <= 4097);
      CHECK(m.size.value > 4097 - 4 * world().size() - 4);
      CHECK(m.median.value > 0);
      for (const double other : gather_values(world(), m.median.value))
        CHECK(other == m.median.value);
      CHECK(m.rates.bus.value == m.rates.algorithm.value * bus_factor(kind, world().size()));
    }
  }
}
