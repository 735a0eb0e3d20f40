// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/power_choice.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace paceline::models {
namespace {

std::string in_watts(double watts) { return base::format_fixed(watts, 0) + " W"; }

base::Watts read_cap(base::Fields& fields, const Cluster& cluster) {
  const base::Watts cap = fields.watts("cap");
  double highest = 0;
  for (const NodeGroup& group : cluster.groups) {
    const Device& device = group.device;
    if (!device.tdp)
      fields.fail("cap", "the TDP of " + device.name + " is not known", "leave it out");
    const double tdp = device.tdp->value;
    highest = std::max(highest, tdp);
    if (cap.value < kLeastPowerCap * tdp)
      fields.fail("cap",
                  "is below half of the TDP of " + device.name + ", where nothing was measured",
                  in_watts(kLeastPowerCap * tdp) + " to " + in_watts(tdp));
  }
  if (cap.value > highest)
    fields.fail("cap", "is above the TDP", "at most " + in_watts(highest) + ", or leave it out");
  return cap;
}

}  // namespace

PowerChoice read_power(base::Fields fields, const Cluster& cluster) {
  PowerChoice power;
  if (fields.has("cap")) power.cap = read_cap(fields, cluster);
  if (fields.has("clock")) {
    if (power.cap) fields.fail("clock", "follows from the cap", "leave one of them out");
    power.clock = fields.number("clock", 0.3, 1);
  }
  power.slack = fields.flag("slack", false);
  fields.done();
  return power;
}

}  // namespace paceline::models
