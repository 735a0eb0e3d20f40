// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sim/program.hpp"

/// Which version of its weights each stage of a pipeline reads, and when it updates them, as the
/// schedule and the engine say.
namespace paceline::sim::convergence {

struct PipelineEvent {
  enum class Kind : std::uint8_t { Forward, Backward, Update };
  double start = 0;  ///< in slots
  int stage = 0;
  int microbatch = 0;  ///< of an update: the last one whose gradient it applies
  Kind kind = Kind::Forward;
};

struct PipelineEvents {
  std::vector<PipelineEvent> events;  ///< by start, then stage; an update follows its backward
  Weights weights = Weights::Latest;
  int stages = 0;
  int max_delay = 0;     ///< in updates of a stage, see sim/staleness.hpp
  int max_mismatch = 0;  ///< versions between a forward and its backward
};

/// Of the schedule of that name with forward and backward of one slot each, without communication.
/// Ends with what has finished after `slots`; 0: all of `microbatches`.
PipelineEvents pipeline_events(const std::string& schedule, int stages, int microbatches,
                               int update_every, std::int64_t slots);

}  // namespace paceline::sim::convergence
