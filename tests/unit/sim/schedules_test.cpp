// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "sim/schedules/schedule.hpp"
#include "sim/verify.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

std::string line_of(const Program& program, std::size_t rank) {
  std::string text;
  for (const Action& action : program.order.at(rank)) {
    text += (text.empty() ? "" : " ") + to_text(action, program);
  }
  return text;
}

std::string error_of(const char* name, const PipelineShape& shape) {
  return ::tests::message_of([&] { find_schedule(name, "").build(shape); });
}

std::vector<int> peaks(const char* name, const PipelineShape& shape) {
  return peak_in_flight(find_schedule(name, "").build(shape));
}

}  // namespace

TEST_CASE("gpipe runs all forwards, then all backwards", "[sim]") {
  const Program program = gpipe({2, 1, 3});
  CHECK(line_of(program, 0) == "0F0 0F1 0F2 0BW0 0BW1 0BW2");
  CHECK(line_of(program, 1) == "1F0 1F1 1F2 1BW0 1BW1 1BW2");
}

TEST_CASE("1f1b warms up with one forward for each rank behind", "[sim]") {
  const Program program = one_f_one_b({3, 1, 4});
  CHECK(line_of(program, 0) == "0F0 0F1 0F2 0BW0 0F3 0BW1 0BW2 0BW3");
  CHECK(line_of(program, 1) == "1F0 1F1 1BW0 1F2 1BW1 1F3 1BW2 1BW3");
  CHECK(line_of(program, 2) == "2F0 2BW0 2F1 2BW1 2F2 2BW2 2F3 2BW3");
}

TEST_CASE("1f1b with fewer microbatches than ranks runs them all first where it has to", "[sim]") {
  const Program program = one_f_one_b({4, 1, 2});
  CHECK(line_of(program, 0) == "0F0 0F1 0BW0 0BW1");
  CHECK(line_of(program, 2) == "2F0 2F1 2BW0 2BW1");
  CHECK(line_of(program, 3) == "3F0 3BW0 3F1 3BW1");
}

TEST_CASE("interleaved-1f1b takes groups of microbatches through all chunks", "[sim]") {
  const Program program = interleaved_1f1b({2, 2, 4});
  // Warm-up 2(p-r-1) + (v-1)p: 4 on rank 0, 2 on rank 1; backwards take the last chunk first.
  CHECK(line_of(program, 0) ==
        "0F0 0F1 2F0 2F1 0F2 2BW0 0F3 2BW1 2F2 0BW0 2F3 0BW1 2BW2 2BW3 0BW2 0BW3");
  CHECK(line_of(program, 1) ==
        "1F0 1F1 3F0 3BW0 3F1 3BW1 1F2 1BW0 1F3 1BW1 3F2 3BW2 3F3 3BW3 1BW2 1BW3");
}

TEST_CASE("interleaved-1f1b with a single group is all warm-up", "[sim]") {
  CHECK(line_of(interleaved_1f1b({2, 2, 2}), 1) == "1F0 1F1 3F0 3F1 3BW0 3BW1 1BW0 1BW1");
}

TEST_CASE("interleaved-1f1b with one chunk is 1f1b", "[sim]") {
  CHECK(interleaved_1f1b({4, 1, 7}) == one_f_one_b({4, 1, 7}));
}

TEST_CASE("breadth-first finishes a chunk before the next one", "[sim]") {
  CHECK(line_of(breadth_first({2, 2, 2}), 0) == "0F0 0F1 2F0 2F1 2BW0 2BW1 0BW0 0BW1");
  CHECK(breadth_first({3, 1, 4}).order == gpipe({3, 1, 4}).order);
}

TEST_CASE("peaks in flight are the published ones", "[sim]") {
  const int p = 8;
  const int m = 32;
  for (int rank = 0; rank < p; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    CHECK(peaks("gpipe", {p, 1, m})[at] == m);
    CHECK(peaks("1f1b", {p, 1, m})[at] == p - rank);
    CHECK(peaks("1f1b", {p, 1, 4})[at] == std::min(p - rank, 4));
    for (const int v : {2, 4}) {
      // In units of a whole rank: p(1 + (p-1)/(p v)) - 2 rank/v.
      CHECK(peaks("interleaved-1f1b", {p, v, m})[at] == p * v + p - 1 - 2 * rank);
      CHECK(peaks("interleaved-1f1b", {p, v, p})[at] == p * v);
      CHECK(peaks("breadth-first", {p, v, m})[at] == m * v);
    }
  }
}

TEST_CASE("a shape a schedule cannot serve says what would be right", "[sim]") {
  using Catch::Matchers::Contains;
  CHECK_THAT(
      error_of("interleaved-1f1b", {4, 2, 10}),
      Contains("10 microbatches do not divide into groups of 4") && Contains("nearest 8 or 12"));
  CHECK_THAT(error_of("interleaved-1f1b", {4, 2, 3}), Contains("nearest 4;"));
  CHECK_THAT(error_of("1f1b", {4, 2, 8}),
             Contains("set chunks to 1") && Contains("interleaved-1f1b"));
  CHECK_THAT(error_of("gpipe", {4, 3, 8}), Contains("not 3 chunks"));
  CHECK_THAT(error_of("gpipe", {0, 1, 8}), Contains("0 pipeline ranks"));
  CHECK_THAT(error_of("breadth-first", {1, -1, 8}), Contains("-1 chunks"));
  CHECK_THAT(error_of("1f1b", {4, 1, 0}), Contains("0 microbatches"));
  CHECK_THAT(error_of("breadth-first", {4096, 4096, 8}), Contains("too many stages"));
  CHECK_THAT(error_of("breadth-first", {8, 2, 2'000'000'000}), Contains("too many to simulate"));
}

TEST_CASE("an unknown schedule is answered with the nearest name", "[sim]") {
  CHECK_THROWS_WITH(
      find_schedule("1f2b", "s.yaml:3:9: schedule.name"),
      Catch::Matchers::StartsWith("s.yaml:3:9: schedule.name: unknown schedule '1f2b'") &&
          Catch::Matchers::Contains("1f1b"));
  CHECK(find_schedule("gpipe", "").build == &gpipe);
}
