// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/schedules/common.hpp"

namespace paceline::sim {

/// The best order a list scheduler finds where a rank may hold `limit` microbatches, or
/// options.memory_limit of them; the staggered order of `lead` is tried too. One chunk per rank.
/// Throws base::Error for a limit below 1.
Program zb_auto(const PipelineShape& shape, const char* name, double limit, int lead);

}  // namespace paceline::sim
