// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "sim/task_graph.hpp"

namespace paceline::hardware {

/// What a rank does for a task.
enum class Deed : std::uint8_t { Nothing, Compute, Send, Collective };

struct RankTask {
  sim::TaskId task = sim::kNoTask;
  Deed deed = Deed::Nothing;
  const sim::Exchange* exchange = nullptr;  ///< of Send and Collective
};

/// Tasks that start together: an action with what is inside it and leaves it. Under ready dispatch
/// groups change places, tasks of a group do not.
struct Group {
  std::size_t first = 0, last = 0;  ///< of RankPart::tasks, last exclusive
};

/// The part of the graph that one rank does, in the order tasks were added.
struct RankPart {
  std::vector<RankTask> tasks;
  std::vector<Group> groups;
  std::vector<const sim::Exchange*> receives;  ///< in the order in which they are sent, by sender
};

/// base::Error when the ranks of the graph are not 0 … ranks-1, one lane each, or a collective
/// says nothing of who takes part.
RankPart part_of(const sim::TaskGraph& graph, int rank, int ranks);

}  // namespace paceline::hardware
