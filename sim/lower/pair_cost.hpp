// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/lower/pass_cost.hpp"

namespace paceline::sim {

/// Two passes of a rank at the same time (DeepSeek-V3, arXiv 2412.19437, section 3.2.1): streams
/// take the pieces of both, one at a time, those of the second pass first; what both want of the
/// compute stream adds up, exchanges of one run beside the kernels of the other, which then proceed
/// at 1/slowdown. Host time of both adds up and is a floor.
struct PairCost {
  double first_end = 0;  ///< when the first of the two passes is done
  double seconds = 0;    ///< both
  PartSeconds parts{};   ///< add up to seconds
};
PairCost pair_cost(const PassCost& first, const PassCost& second, double slowdown);

}  // namespace paceline::sim
