// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/schedules/schedule.hpp"

/// What schedules share. Used by the files of this folder only.
namespace paceline::sim {

inline constexpr std::uint8_t kForward = 0;   ///< F of both kinds of program
inline constexpr std::uint8_t kBackward = 1;  ///< BW of two_pass_program
inline constexpr std::uint8_t kInput = 1;     ///< B of split_program
inline constexpr std::uint8_t kWeight = 2;    ///< W of split_program

/// Throws base::Error for shapes no schedule can serve (counts below 1, too many stages).
void check_shape(const PipelineShape& shape, const char* name);

/// Throws base::Error unless there are `chunks` stages per rank.
void check_chunks(const PipelineShape& shape, const char* name, int chunks);

/// check_shape, and one stage per rank.
void check_one_chunk(const PipelineShape& shape, const char* name);

/// Throws base::Error unless `value` is a multiple of `of`, naming the nearest that are:
/// check_multiple(shape.microbatches, 2, "microbatches", "schedule chimera", "the two directions").
void check_multiple(int value, int of, const char* what, const char* schedule, const char* why);

/// Sizes of the shape, the passes F and BW, and an empty order per rank with room for its actions.
Program two_pass_program(const PipelineShape& shape);

/// The same with the passes F, B and W: B reads F, W reads B and frees F.
Program split_program(const PipelineShape& shape);

/// Sizes of the shape and an empty order per rank.
Program empty_program(const PipelineShape& shape);

/// The action of chunk `chunk` on `rank` under looping placement.
Action action_of(const PipelineShape& shape, std::uint8_t pass, int rank, int chunk,
                 int microbatch);

/// The action of a stage.
inline Action stage_action(std::uint8_t pass, int stage, int microbatch, int slice = 0) {
  Action action;
  action.pass = pass;
  action.stage = static_cast<std::int16_t>(stage);
  action.slice = static_cast<std::int16_t>(slice);
  action.microbatch = microbatch;
  return action;
}

/// Zig-zag placement: chunk 0 goes down the ranks, chunk 1 up again, and so on. The stage that
/// chunk `chunk` of `rank` is, and the rank of a stage.
inline int zigzag_stage(int ranks, int rank, int chunk) {
  return chunk * ranks + (chunk % 2 == 0 ? rank : ranks - 1 - rank);
}
inline int zigzag_rank(int ranks, int stage) {
  const int chunk = stage / ranks, within = stage % ranks;
  return chunk % 2 == 0 ? within : ranks - 1 - within;
}

/// Seconds a pass (F, B, W or BW by name) takes on a stage under shape.times; 1, 1, 1 and 2 times
/// 1/chunks where none are given.
double pass_seconds(const PipelineShape& shape, std::string_view pass, int stage);

}  // namespace paceline::sim
