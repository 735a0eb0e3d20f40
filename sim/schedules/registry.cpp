// SPDX-License-Identifier: Apache-2.0
#include "base/table.hpp"
#include "sim/schedules/schedule.hpp"

namespace paceline::sim {
namespace {

constexpr Schedule kSchedules[] = {
#define PACELINE_SCHEDULE(function, name, summary) {name, summary, &function},
#include "sim/schedules/list.def"
#undef PACELINE_SCHEDULE
};

}  // namespace

std::span<const Schedule> schedules() { return kSchedules; }

const Schedule& find_schedule(std::string_view name, const std::string& where) {
  return base::find(kSchedules, name, where, "schedule");
}

}  // namespace paceline::sim
