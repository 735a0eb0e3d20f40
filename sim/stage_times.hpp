// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/units.hpp"

namespace paceline::sim {

/// Of one microbatch (one slice of it, where there are slices) on one stage.
struct StageTime {
  base::Seconds forward;
  base::Seconds input_gradient;
  base::Seconds weight_gradient;
  base::Bytes activation;  ///< held from the start of F until the pass that frees it ends
  /// Of `activation`, what the end of B frees already where W frees the rest.
  base::Bytes freed_by_input = {};
};

/// Of one action of a pass other than F, B, W and BW.
struct PassTime {
  std::string pass;  ///< by name
  base::Seconds seconds;
};

struct StageTimes {
  std::vector<StageTime> stages;  ///< by stage
  base::Seconds hop;              ///< latency of one message between ranks; the sender goes on
  /// The same on every stage. Updates U and norms N that are not named take no time.
  std::vector<PassTime> others = {};
};

/// The same time on every stage.
StageTimes uniform_times(int stages, const StageTime& time, base::Seconds hop = {});

}  // namespace paceline::sim
