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
  const std::size_t times = shape.times.stages.size();
  PACELINE_CHECK(times == 0 || times == static_cast<std::size_t>(shape.stages()));
}

void check_chunks(const PipelineShape& shape, const char* name, int chunks) {
  check_shape(shape, name);
  if (shape.chunks == chunks) return;
  throw base::Error(std::string("schedule ") + name,
                    "it has " + std::to_string(chunks) + " stages per rank, not " +
                        std::to_string(shape.chunks) + " chunks",
                    "set chunks to " + std::to_string(chunks) + ", or leave it out");
}

void check_one_chunk(const PipelineShape& shape, const char* name) {
  check_shape(shape, name);
  if (shape.chunks != 1) {
    throw base::Error(std::string("schedule ") + name,
                      "it has one stage per rank, not " + std::to_string(shape.chunks) + " chunks",
                      "set chunks to 1, or take interleaved-1f1b or breadth-first");
  }
}

void check_multiple(int value, int of, const char* what, const char* schedule, const char* why) {
  if (value >= of && value % of == 0) return;
  const int below = value / of * of;
  const std::string nearest = below > 0 ? std::to_string(below) + " or " : "";
  throw base::Error(schedule,
                    std::to_string(value) + " " + what + " are no multiple of " +
                        std::to_string(of) + " (" + why + ")",
                    "nearest: " + nearest + std::to_string(below + of));
}

Program empty_program(const PipelineShape& shape) {
  Program program;
  program.stages = shape.stages();
  program.microbatches = shape.microbatches;
  program.order.resize(static_cast<std::size_t>(shape.ranks));
  return program;
}

namespace {

void reserve_orders(Program& program, const PipelineShape& shape) {
  const std::size_t actions = program.passes.size() * static_cast<std::size_t>(shape.chunks) *
                              static_cast<std::size_t>(shape.microbatches);
  for (auto& order : program.order) order.reserve(actions);
}

}  // namespace

Program two_pass_program(const PipelineShape& shape) {
  Program program = empty_program(shape);
  program.passes = {{"F", Direction::Down, {}, {}}, {"BW", Direction::Up, {kForward}, {kForward}}};
  reserve_orders(program, shape);
  return program;
}

Program split_program(const PipelineShape& shape) {
  Program program = empty_program(shape);
  program.passes = {{"F", Direction::Down, {}, {}},
                    {"B", Direction::Up, {kForward}, {}},
                    {"W", Direction::None, {kInput}, {kForward}}};
  reserve_orders(program, shape);
  return program;
}

Action action_of(const PipelineShape& shape, std::uint8_t pass, int rank, int chunk,
                 int microbatch) {
  return stage_action(pass, chunk * shape.ranks + rank, microbatch);
}

double pass_seconds(const PipelineShape& shape, std::string_view pass, int stage) {
  if (shape.times.stages.empty()) return (pass == "BW" ? 2.0 : 1.0) / shape.chunks;
  const StageTime& time = shape.times.stages[static_cast<std::size_t>(stage)];
  if (pass == "F") return time.forward.value;
  if (pass == "B") return time.input_gradient.value;
  if (pass == "W") return time.weight_gradient.value;
  PACELINE_CHECK(pass == "BW");
  return time.input_gradient.value + time.weight_gradient.value;
}

}  // namespace paceline::sim
