// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/asynchronous.hpp"

namespace paceline::sim {

// Pipelined backpropagation (Petrowski et al., 1993; Kosson et al., "Pipelined Backpropagation at
// Scale", MLSys 2021): all stages step together, in every step one forward and the backward that
// has arrived by then, 2 (ranks - 1 - r) microbatches behind on rank r. Weights are updated after
// every sample and never stashed.
//
// For convergence Kosson et al. add spike compensation (the late gradient's missed contributions
// are added when it arrives) or linear weight prediction (the forward uses the weights
// extrapolated along the velocity by the delay). Both are vector work inside U and change neither
// the order nor the delays.
Program pipelined_backprop(const PipelineShape& shape) {
  return without_flush(shape, "pipelined-backprop", 2, 1, Weights::Latest);
}

}  // namespace paceline::sim
