// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/parallel/plan.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/stage_times.hpp"

namespace paceline::sim {

/// How long the stages of a plan take, for schedules that choose their order by it: alone, with the
/// costs of pipeline rank 0, the slowest hop between neighbouring ranks.
StageTimes stage_times(const models::Scenario& scenario, const models::Plan& plan);

}  // namespace paceline::sim
