// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
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

/// How far a search is. It may go through a plain part of the space first, then through all of it.
struct SearchProgress {
  int pass = 1, passes = 1;
  double done = 0, points = 0;  ///< of the pass
  double evaluated = 0;         ///< run by the engine, in all passes
  std::optional<double> best;   ///< value; none: nothing fits yet
};

struct SearchOptions {
  Objective objective = Objective::Time;
  SearchLimits limits;
  int shown = 6;                    ///< layouts in the answer, best first
  std::size_t evaluations = 20000;  ///< most engine runs; after them the answer is not proven
  int threads = 0;                  ///< 0: one for each core
  std::size_t tried = 0;            ///< most layouts in SearchAnswer::tried
  /// Now and then, from any thread.
  std::function<void(const SearchProgress&)> progress = {};
  /// Once true the search ends early, with what it has found; null: never.
  const std::atomic<bool>* stop = nullptr;
};

/// A layout that was run.
struct Candidate {
  Layout layout;
  std::vector<int> stage_layers;  ///< of a balanced cut
  Bound bound;
  double value = 0;  ///< of the objective: seconds or USD or J of a step
  Result result;
};

/// What became of a layout that was run.
enum class Verdict : std::uint8_t { Fits, BeyondMemory, BeyondRun };

struct Tried {
  Layout layout;
  double value = 0;    ///< of the objective
  double seconds = 0;  ///< of a step
  double bytes = 0;    ///< reserved by the fullest rank class
  Verdict verdict = Verdict::Fits;
};

struct SearchCounts {
  double points = 0;     ///< of the space
  double invalid = 0;    ///< that do not divide, or that the schedule refuses
  double memory = 0;     ///< cut off: they need more memory than there is
  double bound = 0;      ///< cut off: no better than what was found, or beyond a limit on the run
  double evaluated = 0;  ///< run by the engine
  double left = 0;  ///< neither cut off nor run: the evaluations were used up, or it was stopped
};

/// Steps of memory that an answer looks beyond its limit.
inline constexpr std::array<double, 3> kMoreMemory{1.25, 2,
                                                   std::numeric_limits<double>::infinity()};

struct SearchAnswer {
  /// Best first; of layouts that differ in recomputation, ZeRO, offloading or the optimizer's place
  /// alone only the best. Equal values: the one that needs less memory.
  std::vector<Candidate> best;
  bool proven = false;   ///< nothing in the space is better
  double gap = 0;        ///< where not: a layout may be better by this share of the value at most
  bool stopped = false;  ///< by SearchOptions::stop
  std::optional<double> least_left;  ///< no layout that is left has a lower value; none: none left
  SearchCounts counts;
  double memory_limit = 0;  ///< bytes a device, as it was taken
  /// What more memory would give: of the layouts that memory alone cuts off and that need up to
  /// kMoreMemory times the limit, the best of the 96 with the lowest bounds. Only what is better
  /// than the answer, and than what less memory gives. Where nothing fits the smallest comes first.
  /// Not looked for once the search is stopped, as `nearest` is not.
  std::vector<Candidate> with_more_memory;
  /// Of the layouts that fit, the least that a limit on the run leaves out: nothing where there is
  /// no such limit or something meets it.
  std::optional<Candidate> nearest;
  /// Of the layouts that were run those with the lowest values, lowest first.
  std::vector<Tried> tried;
};

/// base::Error where the scenario has no layouts to search: modules, given costs, an order from a
/// file; or where nothing of the space divides.
SearchAnswer search(const models::Scenario& scenario, const SearchSpace& space,
                    const SearchOptions& options);

}  // namespace paceline::sim
