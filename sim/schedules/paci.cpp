// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/asynchronous.hpp"

namespace paceline::sim {

// PACI ("Breaking the Bubble", arXiv 2606.07881): 1F1B for ever, each stage updates its only copy
// of the weights after `update_every` backwards of its own. Between the forward of a microbatch and
// its backward rank r runs ranks - 1 - r others, so at most that many divided by update_every,
// rounded up, updates change the weights in between.
Program paci(const PipelineShape& shape) {
  return without_flush(shape, "paci", 1, update_every(shape), Weights::Latest);
}

}  // namespace paceline::sim
