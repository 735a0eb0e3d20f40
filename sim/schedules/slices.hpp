// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "sim/schedules/schedule.hpp"

/// Microbatches cut along the sequence: what seq1f1b and terapipe share.
namespace paceline::sim {

/// Slices of a microbatch unless the scenario says otherwise.
inline constexpr int kDefaultSlices = 4;

/// two_pass_program with `shape.options.slices` slices: F of a slice after F of the one before, BW
/// the other way round. Throws base::Error for counts that no Program can hold.
Program sliced_program(const PipelineShape& shape, const char* name);

/// Seconds that a stage takes for the slice [start, start + length) of a sequence.
using SliceCost = std::function<double(int start, int length)>;

/// Lengths of the slices of a sequence of `length` tokens, in order and multiples of `step` but
/// for the last, that minimise sum t_i + (stages - 1) max t_i: the time of `stages` equal stages
/// for the slices t_i (TeraPipe, arXiv 2102.07988, section 3.3). The search bounds max t_i by each
/// value it can take, least first, and minimises the sum by dynamic programming. With n = length /
/// step it takes n^2 / 2 steps for every bound tried, of which there are up to n^2 / 2; bounds that
/// differ by at most `tolerance` seconds are tried as one, which loses at most (stages - 1) *
/// tolerance. Throws base::Error for arguments below 1, n > 1024, and costs that are no finite
/// number >= 0.
std::vector<int> best_slice_lengths(int length, int step, int stages, const SliceCost& cost,
                                    double tolerance = 0);

/// sum t_i + (stages - 1) max t_i over consecutive slices of these lengths.
double sliced_seconds(const std::vector<int>& lengths, int stages, const SliceCost& cost);

}  // namespace paceline::sim
