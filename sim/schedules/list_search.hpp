// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/schedules/common.hpp"

/// List scheduling for the schedules whose order depends on how long things take: the ranks are
/// played forward in time, and a rank that becomes free takes the action its rules prefer. Used by
/// the files of this folder only.
namespace paceline::sim {

/// What to schedule. Activations and limits are in one unit; only their ratio matters.
struct ListProblem {
  int ranks = 1;
  int chunks = 1;  ///< placed zig-zag
  int microbatches = 1;
  bool splits_backward = true;  ///< B and W, or BW
  StageTimes times;             ///< one entry per stage
  std::vector<double> limit;    ///< by rank: activations held at most
  int stages() const { return ranks * chunks; }
};

/// The problem of `shape`, each rank limited to `limit` microbatches of its own stages. Where the
/// shape has no times, or no stage stores anything, passes take pass_seconds() and store 1.
ListProblem list_problem(const PipelineShape& shape, double limit);

/// When a rank that waits runs a W that takes longer than the wait.
enum class Fill : std::uint8_t {
  Fitting,  ///< never
  Always,
  Balanced,  ///< when waiting would make it the rank that has idled most
};

/// The choices of the free search: each is better for some stage times and limits.
struct ListRules {
  Fill fill = Fill::Fitting;
  bool delay_first_backward = false;  ///< before its first B a rank starts F even if B comes soon
  bool alternate = false;             ///< F before B, unless the last action was F
  bool free_when_full = false;        ///< W before B while the limit holds back an F
};

/// How many places an action may move up in the order given, into a wait of its rank. A forward
/// moves only where the order before its place still fits the limit.
struct FollowRules {
  Fill fill = Fill::Fitting;
  int first_chunk_forward = 0;
  int later_forward = 0;
  int backward = 0;
  int backward_in_drain = 0;  ///< once the rank has run all its forwards
};

/// An order and what it takes.
struct Found {
  std::vector<std::vector<Action>> order;
  double makespan = std::numeric_limits<double>::infinity();  ///< seconds
  double longest = std::numeric_limits<double>::infinity();   ///< seconds of the busiest window
};

/// One chunk per rank: B as soon as it can run, F where the limit allows, W in waits and where
/// memory is needed. The limit must allow one microbatch per rank. A search whose
/// longest stage must exceed `longest` seconds gives up, with an empty order and endless times.
Found search_order(const ListProblem& problem, const ListRules& rules,
                   double longest = std::numeric_limits<double>::infinity());

/// Keeps to `order` (F and B, or F and BW, of each rank) and puts W into waits and where memory is
/// needed. An order that needs more than the limit exceeds it. `longest` as above.
Found follow_order(const ListProblem& problem, std::vector<std::vector<Action>> order,
                   const FollowRules& rules,
                   double longest = std::numeric_limits<double>::infinity());

/// The better of two by longest stage, then by makespan; differences of rounding do not count.
bool better(const Found& a, const Found& b);

}  // namespace paceline::sim
