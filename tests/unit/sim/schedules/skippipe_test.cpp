// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <set>

#include "tests/unit/sim/schedules/evaluate.hpp"

using namespace paceline;
using namespace paceline::sim;
using namespace paceline::sim::test;

namespace {

/// 20 ranks in 6 pools and paths of 4, as in the authors' experiments.
PipelineShape twenty_nodes() {
  PipelineShape shape{20, 1, 40};
  shape.options.pools = 6;
  shape.options.skip = 1.0 / 3;
  return shape;
}

}  // namespace

TEST_CASE("skippipe sends every microbatch over its own path", "[sim]") {
  const PipelineShape shape = twenty_nodes();
  const Program program = skippipe(shape);
  CHECK(program.skips);
  verify(program);
  std::set<std::vector<int>> paths;
  for (int m = 0; m < shape.microbatches; ++m) {
    std::vector<int> ranks;
    std::set<int> stages;
    for (std::size_t rank = 0; rank < 20; ++rank) {
      for (const Action& a : program.order[rank]) {
        if (a.microbatch != m || a.pass != 0) continue;
        if (ranks.empty() || ranks.back() != int(rank)) ranks.push_back(int(rank));
        stages.insert(a.stage);
      }
    }
    CHECK(ranks.size() == 4);
    CHECK(ranks.front() < 4);   // the first pool
    CHECK(ranks.back() >= 17);  // the last one
    CHECK(stages.count(0) == 1);
    CHECK(stages.count(19) == 1);
    paths.insert(ranks);
  }
  CHECK(paths.size() > 20);
}

TEST_CASE("skippipe is first come, first served, with three microbatches on a node", "[sim]") {
  const Program one = skippipe({2, 1, 5});
  // Rank 0 takes three microbatches, then waits for a backward.
  CHECK(line_of(one, 0).substr(0, 19) == "0F0 0F1 0F2 0BW0 0F");
  PipelineShape shape = twenty_nodes();
  for (const int limit : {0, 1, 2, 5}) {
    shape.options.memory_limit = limit;
    const Program program = skippipe(shape);
    verify(program);
    const std::vector<int> peak = peak_in_flight(program);
    for (std::size_t rank = 0; rank < peak.size(); ++rank) {
      const int stages = rank < 8 ? 4 : 3;  // of its pool
      CHECK(peak[rank] <= (limit == 0 ? 3 : limit) * stages);
    }
  }
}

TEST_CASE("skippipe saves about what it skips, and draws ties from the seed", "[sim]") {
  PipelineShape skipping{6, 1, 48}, whole = skipping;
  skipping.options.skip = 1.0 / 3;
  const double ratio =
      makespan("skippipe", skipping, 1, 1, 0.5) / makespan("skippipe", whole, 1, 1, 0.5);
  // Every microbatch passes the first and the last rank, so these stay the bottleneck.
  CHECK(ratio < 1);
  PipelineShape other = skipping;
  other.options.seed = 1;
  CHECK(skippipe(skipping) == skippipe(skipping));
  CHECK(!(skippipe(skipping) == skippipe(other)));
  CHECK(!skippipe(whole).skips);
}

TEST_CASE("skippipe says which shapes it takes", "[sim]") {
  PipelineShape shape{4, 1, 8};
  shape.options.pools = 5;
  CHECK(error_of("skippipe", shape).find("at most 4, one rank each") != std::string::npos);
  shape.options.pools = 3;
  shape.options.skip = 0.6;
  CHECK(error_of("skippipe", shape).find("leaves out 2 of 3 pools; at most 1") !=
        std::string::npos);
}
