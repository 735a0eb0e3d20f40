// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/common.hpp"

#include <limits>

#include "base/error.hpp"

namespace paceline::sim {

void check_shape(const PipelineShape& shape, const char* name) {
  const std::string where = std::string("schedule ") + name;
  const auto at_least_one = [&](int value, const char* what) {
    if (value < 1) {
      throw base::Error(where, std::to_string(value) + " " + what, "at least 1 is needed");
    }
  };
  at_least_one(shape.ranks, "pipeline ranks");
  at_least_one(shape.chunks, "chunks per rank");
  at_least_one(shape.microbatches, "microbatches");
  constexpr int kMaxStages = std::numeric_limits<std::int16_t>::max();
  if (shape.chunks > kMaxStages / shape.ranks) {
    throw base::Error(where,
                      std::to_string(shape.ranks) + " ranks with " + std::to_string(shape.chunks) +
                          " chunks each are too many stages",
                      "at most " + std::to_string(kMaxStages) + " stages");
  }
  constexpr int kMaxPasses = 100'000'000;  // a few GB of Program and TaskGraph
  if (shape.microbatches > kMaxPasses / shape.stages()) {
    throw base::Error(where,
                      std::to_string(shape.microbatches) + " microbatches through " +
                          std::to_string(shape.stages()) + " stages are too many to simulate",
                      "at most " + std::to_string(kMaxPasses / shape.stages()) + " microbatches");
  }
}

void check_one_chunk(const PipelineShape& shape, const char* name) {
  check_shape(shape, name);
  if (shape.chunks != 1) {
    throw base::Error(std::string("schedule ") + name,
                      "it has one stage per rank, not " + std::to_string(shape.chunks) + " chunks",
                      "set chunks to 1, or take interleaved-1f1b or breadth-first");
  }
}

Program two_pass_program(const PipelineShape& shape) {
  Program program;
  program.passes = {{"F", Direction::Down, {}, {}}, {"BW", Direction::Up, {kForward}, {kForward}}};
  program.stages = shape.stages();
  program.microbatches = shape.microbatches;
  program.order.resize(static_cast<std::size_t>(shape.ranks));
  const std::size_t actions =
      2 * static_cast<std::size_t>(shape.chunks) * static_cast<std::size_t>(shape.microbatches);
  for (auto& order : program.order) order.reserve(actions);
  return program;
}

Action action_of(const PipelineShape& shape, std::uint8_t pass, int rank, int chunk,
                 int microbatch) {
  Action action;
  action.pass = pass;
  action.stage = static_cast<std::int16_t>(chunk * shape.ranks + rank);
  action.microbatch = microbatch;
  return action;
}

}  // namespace paceline::sim
