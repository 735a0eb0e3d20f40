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

/// Of a pass that StageTime does not know (vocabulary passes, foreign work, updates). Action of
/// stage s, microbatch m and slice k takes seconds[s][m * slices + k]; a stage or an
/// action that is alone stands for all.
struct PassTimes {
  std::string pass;
  std::vector<std::vector<base::Seconds>> seconds;
};

struct StageTimes {
  std::vector<StageTime> stages;  ///< by stage
  base::Seconds hop;              ///< latency of one message between ranks; the sender goes on
  std::vector<double> slice_scale = {};  ///< by slice: factor of its times; empty: 1
  std::vector<PassTimes> others = {};
};

/// The same time on every stage.
StageTimes uniform_times(int stages, const StageTime& time, base::Seconds hop = {});

}  // namespace paceline::sim
