// SPDX-License-Identifier: Apache-2.0
#include "base/table.hpp"
#include "sim/schedules/schedule.hpp"

namespace paceline::sim {
namespace {

using namespace models;  // the options of the traits column

constexpr Schedule kSchedules[] = {
#define PACELINE_SCHEDULE(function, name, traits, summary) \
  {name, summary, &function, (traits).uses_times},
#include "models/scenario/schedules.def"
#undef PACELINE_SCHEDULE
};

}  // namespace

std::span<const Schedule> schedules() { return kSchedules; }

const Schedule& find_schedule(std::string_view name, const std::string& where) {
  return base::find(kSchedules, name, where, "schedule");
}

}  // namespace paceline::sim
