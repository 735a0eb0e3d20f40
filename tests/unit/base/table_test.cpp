// SPDX-License-Identifier: Apache-2.0
#include "base/table.hpp"

#include <array>
#include <catch2/catch.hpp>

#include "base/rng.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline::base;
using tests::message_of;

namespace {

struct Row {
  const char* name;
  int value;
};
constexpr std::array<Row, 3> kRows{{{"gpipe", 1}, {"1f1b", 2}, {"interleaved-1f1b", 3}}};

}  // namespace

TEST_CASE("a table finds its row or says which there are", "[base]") {
  CHECK(find(kRows, "1f1b").value == 2);
  CHECK(message_of([] { find(kRows, "gpip"); }) ==
        "unknown name 'gpip'; did you mean 'gpipe'? (one of gpipe, 1f1b, interleaved-1f1b)");
  CHECK(message_of([] { find(kRows, "zzz", "x.yaml:1:2", "schedule"); }) ==
        "x.yaml:1:2: unknown schedule 'zzz'; one of gpipe, 1f1b, interleaved-1f1b");
}

TEST_CASE("the generator is SplitMix64", "[base]") {
  // First outputs of the authors' splitmix64.c for seed 1234567.
  Rng rng(1234567);
  CHECK(rng.next() == 6457827717110365317u);
  CHECK(rng.next() == 3203168211198807973u);
  CHECK(rng.next() == 9817491932198370423u);
}

TEST_CASE("bounded random numbers stay in their bounds and reach them", "[base]") {
  Rng rng(1);
  std::array<int, 6> seen{};
  for (int i = 0; i < 6000; ++i) ++seen.at(rng.below(6));
  for (const int count : seen) CHECK((count > 850 && count < 1150));
  double low = 1, high = 0;
  for (int i = 0; i < 1000; ++i) {
    const double u = rng.uniform();
    low = std::min(low, u);
    high = std::max(high, u);
  }
  CHECK(low >= 0);
  CHECK(high < 1);
  CHECK(high - low > 0.95);
  CHECK(rng.below(1) == 0);
}
