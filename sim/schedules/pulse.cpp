// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/pulse.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/common.hpp"
#include "sim/schedules/greedy.hpp"

namespace paceline::sim {
namespace {

StageTimes times_of(const PipelineShape& shape) {
  if (!shape.times.stages.empty()) return shape.times;
  const base::Seconds each(1.0 / shape.chunks);
  return uniform_times(shape.stages(), {each, each, each, base::Bytes(0)}, shape.times.hop);
}

/// Backwards first. Then the oldest microbatch, or the stage nearest to the end.
struct Rule {
  bool oldest;
  bool equal;  ///< as if all passes took the same time
};

Program wave(const PipelineShape& shape, int window, Rule rule) {
  Program program = two_pass_program(shape);
  GreedyRules rules;
  rules.rank = [&](int stage, int) { return zigzag_rank(shape.ranks, stage); };
  rules.seconds = [&](int pass, int stage) {
    return rule.equal ? 1.0 : pass_seconds(shape, pass == kForward ? "F" : "BW", stage);
  };
  rules.hop = rule.equal ? 0 : shape.times.hop.value;
  rules.window = window;
  rules.priority = [&](const Action& a) {
    const bool backward = a.pass == kBackward;
    const int left = backward ? a.stage : shape.stages() - a.stage;
    const std::int64_t rank = rule.oldest ? std::int64_t{a.microbatch} * (shape.stages() + 1) + left
                                          : std::int64_t{left} * shape.microbatches + a.microbatch;
    return rank - (backward ? kAheadOfAll : 0);
  };
  greedy_order(program, rules);
  return program;
}

/// Seconds of the layer pairs from the outside in; the middle layer belongs to the last.
std::vector<double> pair_seconds(std::span<const double> seconds) {
  const std::size_t layers = seconds.size();
  std::vector<double> pairs;
  for (std::size_t i = 0; i < layers / 2; ++i) {
    pairs.push_back(seconds[i] + seconds[layers - 1 - i]);
  }
  if (layers % 2 == 1 && !pairs.empty()) pairs.back() += seconds[layers / 2];
  return pairs;
}

/// First pair of each rank.
std::vector<int> split_pairs(std::span<const double> pairs, int ranks) {
  const int count = static_cast<int>(pairs.size());
  std::vector<double> sum{0};
  for (const double seconds : pairs) sum.push_back(sum.back() + seconds);
  const auto at = [count](int rank, int end) {
    return static_cast<std::size_t>(rank * (count + 1) + end);
  };
  // best[k][n]: the slowest of k ranks that share the first n pairs; from: where the last begins.
  std::vector<double> best(at(ranks, count) + 1, std::numeric_limits<double>::infinity());
  std::vector<int> from(best.size(), 0);
  best[at(0, 0)] = 0;
  for (int k = 1; k <= ranks; ++k) {
    for (int end = k; end <= count; ++end) {
      for (int begin = k - 1; begin < end; ++begin) {
        const double last =
            sum[static_cast<std::size_t>(end)] - sum[static_cast<std::size_t>(begin)];
        const double slowest = std::max(best[at(k - 1, begin)], last);
        if (slowest >= best[at(k, end)]) continue;
        best[at(k, end)] = slowest;
        from[at(k, end)] = begin;
      }
    }
  }
  std::vector<int> first(static_cast<std::size_t>(ranks));
  for (int k = ranks, end = count; k > 0; --k) {
    end = from[at(k, end)];
    first[static_cast<std::size_t>(k - 1)] = end;
  }
  return first;
}

}  // namespace

std::vector<int> mirrored_partition(std::span<const double> seconds, int ranks) {
  const int layers = static_cast<int>(seconds.size());
  if (ranks < 1 || ranks > layers / 2) {
    throw base::Error(
        "schedule pulse",
        std::to_string(layers) + " layers for " + std::to_string(ranks) + " pipeline ranks",
        "1 to " + std::to_string(layers / 2) + " ranks: each holds a pair of layers");
  }
  for (const double s : seconds) {
    if (!(s >= 0 && s < std::numeric_limits<double>::infinity())) {
      throw base::Error("schedule pulse", "a layer time is not a number of at least 0");
    }
  }
  std::vector<int> first = split_pairs(pair_seconds(seconds), ranks);
  for (int rank = ranks - 1; rank >= 0; --rank) {
    // The mirror of a rank's last pair; the middle layer, if any, comes before all mirrors.
    const bool inner = rank == ranks - 1;
    first.push_back(inner ? layers / 2 : layers - first[static_cast<std::size_t>(rank + 1)]);
  }
  first.push_back(layers);
  return first;
}

double skip_bytes(std::span<const int> first_layer, std::span<const int> rank,
                  std::span<const double> bytes) {
  PACELINE_CHECK(first_layer.size() == rank.size() + 1);
  const int layers = first_layer.back();
  const auto stage_of = [&](int layer) {
    return std::upper_bound(first_layer.begin(), first_layer.end(), layer) - first_layer.begin() -
           1;
  };
  double total = 0;
  for (int i = 0; i < static_cast<int>(bytes.size()); ++i) {
    PACELINE_CHECK(2 * i < layers);
    const auto from = stage_of(i), to = stage_of(layers - 1 - i);
    if (rank[static_cast<std::size_t>(from)] == rank[static_cast<std::size_t>(to)]) continue;
    total += bytes[static_cast<std::size_t>(i)] * static_cast<double>(to - from);
  }
  return total;
}

// PULSE (abstract of the paper on pipeline training of UNet-like diffusion models): encoder and
// decoder layers joined by a skip connection share a rank, so stage i and its mirror do and the
// forward runs down the ranks and up again. The paper solves an integer program for the order of a
// few microbatches, repeats it, and publishes no list. Our reading: list scheduling on that
// placement, backwards first, under the one of three rules that ends first under the given times
// with up to four microbatches per rank. At most one microbatch per rank (or memory_limit) is under
// way.
Program pulse(const PipelineShape& shape) {
  check_chunks(shape, "pulse", 2);
  const double limit = shape.options.memory_limit > 0 ? shape.options.memory_limit : shape.ranks;
  const int window = std::max(1, static_cast<int>(std::min<double>(limit, shape.microbatches)));
  const StageTimes times = times_of(shape);
  PipelineShape sample = shape;
  sample.microbatches = std::min(shape.microbatches, 4 * shape.ranks);
  constexpr Rule kRules[] = {{true, false}, {false, false}, {true, true}};
  Rule best = kRules[0];
  double shortest = std::numeric_limits<double>::infinity();
  for (const Rule& rule : kRules) {
    const double makespan = run_reference(timed(wave(sample, window, rule), times)).makespan;
    if (makespan >= shortest) continue;
    shortest = makespan;
    best = rule;
  }
  return wave(shape, window, best);
}

}  // namespace paceline::sim
