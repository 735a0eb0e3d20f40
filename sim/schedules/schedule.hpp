// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "models/scenario/schedule_choice.hpp"
#include "sim/program.hpp"
#include "sim/stage_times.hpp"

/// Schedules turn a shape into a Program. Orders only: no times, messages or devices. Those that
/// search for an order (list schedulers, slice lengths) look at `times` to choose; the engine still
/// decides when everything happens.
namespace paceline::sim {

/// `ranks` pipeline ranks with `chunks` stages each run `microbatches` per step. Where a stage
/// lives is up to the schedule; the default is rank s % ranks, chunk s / ranks (looping placement).
struct PipelineShape {
  int ranks = 1;
  int chunks = 1;
  int microbatches = 1;
  models::ScheduleOptions options = {};  ///< 0 or empty: the schedule's default
  StageTimes times = {};                 ///< empty: F, B and W take the same time, hops none
  int stages() const { return ranks * chunks; }
};

/// Throws base::Error when the schedule does not exist for the shape, saying what would be right.
using ScheduleFunction = Program (*)(const PipelineShape&);

struct Schedule {
  std::string_view name;     ///< canonical: gpipe, 1f1b, interleaved-1f1b, ...
  std::string_view summary;  ///< one line for `paceline list schedules`
  ScheduleFunction build;
  bool uses_times = false;  ///< the order depends on PipelineShape::times
};

#define PACELINE_SCHEDULE(function, name, traits, summary) \
  Program function(const PipelineShape& shape);
#include "models/scenario/schedules.def"
#undef PACELINE_SCHEDULE

/// All of schedules.def, in its order.
std::span<const Schedule> schedules();

/// By canonical name; throws base::Error at `where` ("file:line:column: schedule.name") with the
/// nearest valid name and the whole list.
const Schedule& find_schedule(std::string_view name, const std::string& where);

}  // namespace paceline::sim
