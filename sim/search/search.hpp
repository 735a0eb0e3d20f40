// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "sim/result.hpp"
#include "sim/search/bound.hpp"
#include "sim/search/space.hpp"

/// The best layout of a space: branch and bound over `lower_bound`, with the engine as the judge.
namespace paceline::sim {

enum class Objective : std::uint8_t { Time, Cost, Energy };

/// What an answer must stay below; 0: no limit.
struct SearchLimits {
  double memory_bytes = 0;  ///< a device; 0: kNearlyFull of it, above which real runs slow down
  double run_seconds = 0;   ///< of the run's tokens
  double run_money = 0;     ///< USD of the run
};

struct SearchOptions {
  Objective objective = Objective::Time;
  SearchLimits limits;
  int shown = 6;                    ///< layouts in the answer, best first
  std::size_t evaluations = 20000;  ///< most engine runs; after them the answer is not proven
  int threads = 0;                  ///< 0: one for each core
  /// Points done so far and the best value yet (none: nothing fits), now and then, from any thread.
  std::function<void(double points, std::optional<double> best)> progress = {};
};

/// A layout that was run.
struct Candidate {
  Layout layout;
  std::vector<int> stage_layers;  ///< of a balanced cut
  Bound bound;
  double value = 0;  ///< of the objective: seconds or USD or J of a step
  Result result;
};

struct SearchCounts {
  double points = 0;     ///< of the space
  double invalid = 0;    ///< that do not divide, or that the schedule refuses
  double memory = 0;     ///< cut off: they need more memory than there is
  double bound = 0;      ///< cut off: no better than what was found, or beyond a limit on the run
  double evaluated = 0;  ///< run by the engine
  double left = 0;       ///< neither cut off nor run: the evaluations were used up
};

/// Steps of memory that an answer looks beyond its limit.
inline constexpr std::array<double, 3> kMoreMemory{1.25, 2,
                                                   std::numeric_limits<double>::infinity()};

struct SearchAnswer {
  /// Best first; of layouts that differ in recomputation, ZeRO, offloading or the optimizer's place
  /// alone only the best. Equal values: the one that needs less memory.
  std::vector<Candidate> best;
  bool proven = false;  ///< nothing in the space is better
  double gap = 0;       ///< where not: a layout may be better by this share of the value at most
  SearchCounts counts;
  double memory_limit = 0;  ///< bytes a device, as it was taken
  /// What more memory would give: of the layouts that memory alone cuts off and that need up to
  /// kMoreMemory times the limit, the best of the 96 with the lowest bounds. Only what is better
  /// than the answer, and than what less memory gives. Where nothing fits the smallest comes first.
  std::vector<Candidate> with_more_memory;
  /// Of the layouts that fit, the least that a limit on the run leaves out: nothing where there is
  /// no such limit or something meets it.
  std::optional<Candidate> nearest;
};

/// base::Error where the scenario has no layouts to search: modules, given costs, an order from a
/// file; or where nothing of the space divides.
SearchAnswer search(const models::Scenario& scenario, const SearchSpace& space,
                    const SearchOptions& options);

}  // namespace paceline::sim
