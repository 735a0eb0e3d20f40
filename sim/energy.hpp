// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "models/scenario/scenario.hpp"
#include "sim/result.hpp"
#include "sim/steady.hpp"
#include "sim/task_graph.hpp"

/// Power integrated over a timeline.
namespace paceline::sim {

/// Seconds of a lane in each class; they add up to the time looked at.
using ClassSeconds = std::array<double, models::kPowerClasses>;

/// What each lane does between `from` and `to`: kernels by what bounds them (Segment::matrix_share
/// of compute), transfers where no kernel runs, else idle.
std::vector<ClassSeconds> class_seconds(const TaskGraph& graph, const Timeline& timeline,
                                        double from, double to);

/// What a step has beyond its timeline.
struct EnergySpan {
  double seconds = 0;  ///< of a step, waiting included; 0: as long as the timeline
  double work = 1;     ///< kernels and transfers over those of the timeline
};

/// Nothing where a device's TDP is unknown.
std::optional<Energy> energy_of(const models::Scenario& scenario, const TaskGraph& graph,
                                const Timeline& timeline,
                                const std::optional<SteadyState>& steady = {},
                                const EnergySpan& span = {});

}  // namespace paceline::sim
