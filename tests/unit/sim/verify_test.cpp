// SPDX-License-Identifier: Apache-2.0
#include "sim/verify.hpp"

#include <catch2/catch.hpp>

#include "sim/engine/reference.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

Program two_stages(const std::string& rank0, const std::string& rank1, int microbatches = 1) {
  return parse_program("program stages=2 microbatches=" + std::to_string(microbatches) +
                           " slices=1\npass F down\npass BW up reads F frees F\npass B up reads F\n"
                           "pass W local reads B frees F\nrank 0: " +
                           rank0 + "\nrank 1: " + rank1 + "\n",
                       "t");
}

std::string error_of(const Program& program) {
  return ::tests::message_of([&] { verify(program); });
}

}  // namespace

TEST_CASE("complete programs pass, with the backward fused or split or both", "[sim]") {
  CHECK(error_of(two_stages("0F0 0BW0", "1F0 1BW0")).empty());
  CHECK(error_of(two_stages("0F0 0B0 0W0", "1F0 1B0 1W0")).empty());
  CHECK(error_of(two_stages("0F0 0BW0", "1F0 1B0 1W0")).empty());
  CHECK(error_of(two_stages("0F0 0B0 0W0", "1F0 1BW0")).empty());
}

TEST_CASE("incomplete or doubled work is named", "[sim]") {
  using Catch::Matchers::Contains;
  CHECK_THAT(error_of(two_stages("0F0 0BW0", "1F0")),
             Contains("stage 1, microbatch 0, slice 0 has neither BW nor both B and W"));
  CHECK_THAT(error_of(two_stages("0F0 0BW0 0W0", "1F0 1BW0")),
             Contains("has BW and a separate B or W"));
  CHECK_THAT(error_of(two_stages("0BW0", "1F0 1BW0")),
             Contains("stage 0, microbatch 0, slice 0 has no F"));
  CHECK_THAT(error_of(two_stages("0F0 0BW0 0F0", "1F0 1BW0")),
             Contains("0F0 (rank 0, position 0) stands again at rank 0, position 2"));
  CHECK_THAT(error_of(two_stages("0F0 0BW0", "", 4)), Contains("2 actions cannot cover"));
}

TEST_CASE("a program that waits for itself names who waits for what", "[sim]") {
  using Catch::Matchers::Contains;
  CHECK_THAT(error_of(two_stages("0BW0 0F0", "1F0 1BW0")),
             Contains("0BW0 (rank 0, position 0) waits for 0F0"));
  // Rank 0 wants the gradient of microbatch 0 first, rank 1 the input of microbatch 1.
  CHECK_THAT(error_of(two_stages("0F0 0BW0 0F1 0BW1", "1F1 1BW1 1F0 1BW0", 2)),
             Contains("0BW0 (rank 0, position 1) waits for 1BW0 (rank 1, position 3)") &&
                 Contains("1F1 (rank 1, position 0) waits for 0F1"));
}

TEST_CASE("a fused action at the end of a rank has no companion", "[sim]") {
  Program program = two_stages("0F0 0BW0", "1F0 1BW0");
  program.order[1].back().fused = true;
  CHECK_THAT(error_of(program), Catch::Matchers::Contains("fused action without a companion"));
}

TEST_CASE("what is freed twice or never is found", "[sim]") {
  Program program = two_stages("0F0 0B0 0W0", "1F0 1BW0");
  program.passes[2].frees = {0};  // B frees F already
  CHECK_THAT(error_of(program), Catch::Matchers::Contains("frees 0F0, which is not stored then"));
  program.passes[2].frees.clear();
  program.passes[3].frees.clear();
  CHECK_THAT(error_of(program), Catch::Matchers::Contains("rank 0 ends with 1 inputs stored"));
}

TEST_CASE("execution order lists every action after what it needs", "[sim]") {
  const auto order = execution_order(two_stages("0F0 0BW0", "1F0 1BW0"));
  const std::vector<Position> expected{{0, 0}, {1, 0}, {1, 1}, {0, 1}};
  CHECK(order == expected);
}

TEST_CASE("buffers needed under blocking sends", "[sim]") {
  CHECK(required_buffers(gpipe({8, 1, 32})) == 1);
  CHECK(required_buffers(one_f_one_b({8, 1, 32})) == 1);
  CHECK(required_buffers(interleaved_1f1b({8, 4, 32})) == 1);
  // The first rank is busy with chunk 0 while the last one is already through with it.
  CHECK(required_buffers(breadth_first({8, 2, 8})) == 1);
  const Program breadth = breadth_first({8, 2, 32});
  const int slots = required_buffers(breadth);
  CHECK(slots > 1);
  CHECK(runs_with_buffers(breadth, slots));
  CHECK_FALSE(runs_with_buffers(breadth, slots - 1));
}

TEST_CASE("messages in another order than they are wanted need room", "[sim]") {
  const Program swapped = two_stages("0F0 0F1 0BW0 0BW1", "1F1 1F0 1BW0 1BW1", 2);
  verify(swapped);
  CHECK_FALSE(runs_with_buffers(swapped, 1));
  CHECK(required_buffers(swapped) == 2);
}

TEST_CASE("the critical path leads from time zero to the makespan without a gap", "[sim]") {
  const auto graph =
      timed(one_f_one_b({4, 1, 8}),
            uniform_times(4, {base::Seconds(1), base::Seconds(1), base::Seconds(1), {}},
                          base::Seconds(0.125)));
  const Timeline timeline = run_reference(graph);
  const auto path = critical_path(graph, timeline);
  REQUIRE_FALSE(path.empty());
  CHECK(timeline.start[path.front()] == 0);
  CHECK(timeline.finish[path.back()] == timeline.makespan);
  for (std::size_t i = 1; i < path.size(); ++i) {
    CHECK(timeline.start[path[i]] == timeline.finish[path[i - 1]]);
  }
}
