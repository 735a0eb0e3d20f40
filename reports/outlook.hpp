// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/json.hpp"
#include "sim/result.hpp"

/// The run with failures and checkpoints.
namespace paceline::reports {

void write_outlook(base::JsonWriter& json, const sim::RunOutlook& outlook);
sim::RunOutlook read_outlook(base::Fields from);
std::vector<std::string> outlook_lines(const sim::RunOutlook& outlook);

}  // namespace paceline::reports
