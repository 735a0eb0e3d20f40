// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "sim/program.hpp"

namespace paceline::sim {

/// Who holds which stage: a rank holds a stage when one of its actions works on it. Stages of
/// bidirectional schedules are held by several ranks.
struct Placement {
  std::vector<std::vector<int>> stages;  ///< by rank, ascending
  std::vector<std::vector<int>> ranks;   ///< by stage, ascending
};

Placement placement_of(const Program& program);

/// The stages one rank holds, ascending; none of a rank the program does not have.
std::vector<int> stages_of(const Program& program, int rank);

}  // namespace paceline::sim
