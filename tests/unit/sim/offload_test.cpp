// SPDX-License-Identifier: Apache-2.0
#include "sim/offload.hpp"

#include <catch2/catch.hpp>

#include "sim/schedules/schedule.hpp"
#include "sim/verify.hpp"

using namespace paceline;
using namespace paceline::sim;

TEST_CASE("offloaded activations leave and come back, and fewer are held", "[sim]") {
  const Program plain = one_f_one_b({4, 1, 8});
  Program moved = plain;
  add_offload(moved, 1);
  CHECK_NOTHROW(verify(moved));
  const std::vector<int> before = peak_in_flight(plain), after = peak_in_flight(moved);
  CHECK(before == std::vector<int>{4, 3, 2, 1});
  // One in use, one coming back, one that has just been made.
  CHECK(after[0] < before[0]);
  CHECK(after[3] == 1);
  CHECK(parse_program(to_text(moved), "again") == moved);
}

TEST_CASE("a share of nothing moves nothing", "[sim]") {
  Program program = one_f_one_b({4, 1, 8});
  const auto order = program.order;
  add_offload(program, 0);
  CHECK(program.order == order);
  CHECK_NOTHROW(verify(program));
}

TEST_CASE("what is needed at once stays", "[sim]") {
  Program program = one_f_one_b({1, 1, 4});
  const auto order = program.order;
  add_offload(program, 1);
  CHECK(program.order == order);
}
