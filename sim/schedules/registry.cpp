// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "base/config.hpp"
#include "base/error.hpp"
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
  std::vector<std::string> names;
  for (const Schedule& schedule : kSchedules) {
    if (schedule.name == name) return schedule;
    names.emplace_back(schedule.name);
  }
  std::string hint;
  if (const std::string near = base::nearest(name, names); !near.empty()) {
    hint = "did you mean " + near + "? ";
  }
  hint += "valid: ";
  for (std::size_t i = 0; i < names.size(); ++i) hint += (i == 0 ? "" : ", ") + names[i];
  throw base::Error(where, "unknown schedule '" + std::string(name) + "'", hint);
}

}  // namespace paceline::sim
