// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "sim/program.hpp"

/// Schedules turn a shape into a Program and know nothing of times, messages or devices.
namespace paceline::sim {

/// `ranks` pipeline ranks with `chunks` stages each run `microbatches` per step. Stage s lives on
/// rank s % ranks and is chunk s / ranks there (looping placement).
struct PipelineShape {
  int ranks = 1;
  int chunks = 1;
  int microbatches = 1;
  int stages() const { return ranks * chunks; }
};

/// Throws base::Error when the schedule does not exist for the shape, saying what would be right.
using ScheduleFunction = Program (*)(const PipelineShape&);

struct Schedule {
  std::string_view name;     ///< canonical: gpipe, 1f1b, interleaved-1f1b, ...
  std::string_view summary;  ///< one line for `paceline list schedules`
  ScheduleFunction build;
};

#define PACELINE_SCHEDULE(function, name, summary) Program function(const PipelineShape& shape);
#include "sim/schedules/list.def"
#undef PACELINE_SCHEDULE

/// All of list.def, in its order.
std::span<const Schedule> schedules();

/// By canonical name; throws base::Error at `where` ("file:line:column: schedule.name") with the
/// nearest valid name and the whole list.
const Schedule& find_schedule(std::string_view name, const std::string& where);

}  // namespace paceline::sim
