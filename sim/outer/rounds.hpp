// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "sim/outer/outer.hpp"

/// Rounds of workers as tasks.
namespace paceline::sim {

/// Sums over the rounds built.
struct Traffic {
  double sent = 0, egress = 0, syncs = 0, missed = 0;
  std::vector<double> carried;  ///< by wire
};

struct BuiltRounds {
  TaskGraph graph;
  Traffic traffic;
  double codec = 0;  ///< s of a round that codecs take on the compute stream of a worker
};

/// As outer_graph has them.
BuiltRounds build_rounds(const models::OuterChoice& outer, const InnerStep& step, int rounds,
                         const Wan* wan);

}  // namespace paceline::sim
