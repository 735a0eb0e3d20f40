// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/asynchronous.hpp"

namespace paceline::sim {

// PipeDream (Narayanan et al., SOSP 2019): 1F1B for ever, an update after every backward. A
// backward uses the version of the weights its forward used, so rank r stashes ranks - r versions
// and its gradients are ranks - 1 - r updates late.
Program pipedream(const PipelineShape& shape) {
  return without_flush(shape, "pipedream", 1, 1, Weights::Stash);
}

}  // namespace paceline::sim
