// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/schedules/schedule.hpp"

/// What the flush schedules share. Used by the files of this folder only.
namespace paceline::sim {

inline constexpr std::uint8_t kForward = 0;   ///< F of two_pass_program
inline constexpr std::uint8_t kBackward = 1;  ///< BW of two_pass_program

/// Throws base::Error for shapes no schedule can serve (counts below 1, too many stages).
void check_shape(const PipelineShape& shape, const char* name);

/// Throws base::Error unless there is one stage per rank.
void check_one_chunk(const PipelineShape& shape, const char* name);

/// Sizes and the passes F and BW, with an empty order per rank that has room for all its actions.
Program two_pass_program(const PipelineShape& shape);

/// The action of chunk `chunk` on `rank`.
Action action_of(const PipelineShape& shape, std::uint8_t pass, int rank, int chunk,
                 int microbatch);

}  // namespace paceline::sim
