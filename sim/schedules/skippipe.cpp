// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/rng.hpp"
#include "sim/schedules/common.hpp"
#include "sim/schedules/greedy.hpp"

namespace paceline::sim {
namespace {

/// Consecutive ranks that hold the same stages: as many stages as ranks.
struct Pools {
  int ranks = 1, count = 1;
  /// First rank, and first stage, of a pool; the first pools are one larger where it does not
  /// divide.
  int begin(int pool) const { return pool * (ranks / count) + std::min(pool, ranks % count); }
  int of_stage(int stage) const {
    int pool = 0;
    while (begin(pool + 1) <= stage) ++pool;
    return pool;
  }
};

Pools pools_of(const PipelineShape& shape) {
  const int pools = shape.options.pools > 0 ? shape.options.pools : shape.ranks;
  if (pools > shape.ranks) {
    throw base::Error(
        "schedule skippipe",
        std::to_string(pools) + " pools for " + std::to_string(shape.ranks) + " pipeline ranks",
        "at most " + std::to_string(shape.ranks) + ", one rank each");
  }
  return {shape.ranks, pools};
}

/// How many pools a microbatch leaves out.
int skipped_pools(const PipelineShape& shape, const Pools& pools) {
  const int skipped = static_cast<int>(std::lround(shape.options.skip * pools.count));
  const int most = std::max(pools.count - 2, 0);
  if (skipped <= most) return skipped;
  throw base::Error("schedule skippipe",
                    "skip leaves out " + std::to_string(skipped) + " of " +
                        std::to_string(pools.count) + " pools",
                    "at most " + std::to_string(most) +
                        ": the first and the last hold the embedding and the head");
}

/// The index of a smallest entry among [begin, end), ties by lot.
std::size_t least(const std::vector<int>& load, std::size_t begin, std::size_t end,
                  base::Rng& rng) {
  std::size_t best = begin, equal = 0;
  for (std::size_t i = begin; i < end; ++i) {
    if (load[i] > load[best]) continue;
    equal = load[i] < load[best] ? 1 : equal + 1;
    if (equal == 1 || rng.below(equal) == 0) best = i;
  }
  return best;
}

/// By microbatch and pool: the rank visited, or -1. Pools and ranks with the fewest visits so far
/// are taken first, so that paths collide little.
std::vector<int> choose_paths(const PipelineShape& shape, const Pools& pools) {
  const int skipped = skipped_pools(shape, pools);
  const auto count = static_cast<std::size_t>(pools.count);
  base::Rng rng(shape.options.seed);
  std::vector<int> pool_load(count, 0), rank_load(static_cast<std::size_t>(pools.ranks), 0);
  std::vector<int> path(count * static_cast<std::size_t>(shape.microbatches), -1);
  std::vector<int> load;  // of pools not chosen yet
  for (std::size_t m = 0; m < static_cast<std::size_t>(shape.microbatches); ++m) {
    load = pool_load;
    constexpr int kChosen = std::numeric_limits<int>::max();
    for (int visits = 0; visits < pools.count - skipped; ++visits) {
      std::size_t pool = visits == 0 ? 0 : count - 1;  // these two always
      if (visits > 1) pool = least(load, 1, count - 1, rng);
      load[pool] = kChosen;
      ++pool_load[pool];
      const auto first = static_cast<std::size_t>(pools.begin(static_cast<int>(pool)));
      const auto last = static_cast<std::size_t>(pools.begin(static_cast<int>(pool) + 1));
      const std::size_t rank = least(rank_load, first, last, rng);
      ++rank_load[rank];
      path[m * count + pool] = static_cast<int>(rank);
    }
  }
  return path;
}

}  // namespace

// SkipPipe (Blagoev et al., arXiv 2502.19913): nodes form pools, the nodes of a pool hold the same
// part of the model, and every microbatch follows its own path over some of the pools; its backward
// goes the same way. A node works first come, first served, and takes no new microbatch while it
// holds three (memory_limit). Our reading: `pools` groups of consecutive ranks, each rank of a
// group holding as many stages as the group has ranks; the first and the last pool are on every
// path, since embedding and head stand there; the others are chosen to spread the load, with ties
// drawn from `seed`, in place of the paper's conflict-based search. The order comes from playing
// this with the given times.
Program skippipe(const PipelineShape& shape) {
  check_chunks(shape, "skippipe", 1);
  const Pools pools = pools_of(shape);
  const std::vector<int> path = choose_paths(shape, pools);
  std::vector<int> pool_of;
  for (int stage = 0; stage < shape.stages(); ++stage) pool_of.push_back(pools.of_stage(stage));
  Program program = two_pass_program(shape);
  program.skips = skipped_pools(shape, pools) > 0;
  GreedyRules rules;
  rules.rank = [&](int stage, int microbatch) {
    return path[static_cast<std::size_t>(microbatch) * static_cast<std::size_t>(pools.count) +
                static_cast<std::size_t>(pool_of[static_cast<std::size_t>(stage)])];
  };
  rules.seconds = [&](int pass, int stage) {
    return pass_seconds(shape, pass == kForward ? "F" : "BW", stage);
  };
  rules.hop = shape.times.hop.value;
  constexpr double kMemory = 3;  // microbatches, as in the authors' experiments
  const double limit = shape.options.memory_limit > 0 ? shape.options.memory_limit : kMemory;
  rules.room = std::max(1, static_cast<int>(std::min<double>(limit, shape.microbatches)));
  greedy_order(program, rules);
  return program;
}

}  // namespace paceline::sim
