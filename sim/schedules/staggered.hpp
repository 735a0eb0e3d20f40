// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/schedules/common.hpp"

namespace paceline::sim {

/// 1F1B with a split backward, ranks staggered: rank r runs lead * (ranks - 1 - r) forwards before
/// its first pair of F and B, and its W follow lead * r pairs behind. One chunk per rank.
Program staggered_program(const PipelineShape& shape, int lead);

}  // namespace paceline::sim
