// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/about.hpp"

namespace paceline::sim {
namespace {

constexpr About kAbout[] = {
#define PACELINE_ABOUT(name, placement, order, bubble, peak, paper) \
  {name, placement, order, bubble, peak, paper},
#include "sim/schedules/about.def"
#undef PACELINE_ABOUT
};

}  // namespace

const About* about(std::string_view name) {
  for (const About& entry : kAbout) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace paceline::sim
