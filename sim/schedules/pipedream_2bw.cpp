// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "sim/schedules/asynchronous.hpp"

namespace paceline::sim {

// PipeDream-2BW (Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", ICML 2021):
// 1F1B for ever, a new version every `update_every` microbatches. Batch t is computed on the
// version before the one its predecessor leaves, W(t+1) = W(t) - lr * gradient(W(t-1)): one update
// late on every stage, and two versions at any time. With fewer microbatches per update than ranks
// two versions would not do.
Program pipedream_2bw(const PipelineShape& shape) {
  check_one_chunk(shape, "pipedream-2bw");
  const int every = update_every(shape);
  if (every < shape.ranks) {
    throw base::Error("schedule pipedream-2bw",
                      "an update every " + std::to_string(every) + " microbatches needs more " +
                          "than two versions of the weights on " + std::to_string(shape.ranks) +
                          " ranks",
                      "update_every has to be at least " + std::to_string(shape.ranks));
  }
  return without_flush(shape, "pipedream-2bw", 1, every, Weights::Delayed);
}

}  // namespace paceline::sim
