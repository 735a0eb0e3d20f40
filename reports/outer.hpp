// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/json.hpp"
#include "sim/result.hpp"

/// Workers that exchange now and then, as text and in the JSON of a result (key `outer`).
namespace paceline::reports {

void write_outer(base::JsonWriter& json, const sim::OuterResult& outer);
sim::OuterResult read_outer_result(base::Fields from);
std::vector<std::string> outer_lines(const sim::OuterResult& outer);

}  // namespace paceline::reports
