// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/json.hpp"
#include "reports/text_block.hpp"
#include "sim/result.hpp"

/// Shared links in the answer: on screen and in the result file.
namespace paceline::reports {

/// Two to four lines: what sharing cost, and the links that cost most with their use over the step.
std::vector<std::string> network_lines(const sim::NetworkResult& network, double step_time,
                                       const TextStyle& style);

/// Use of a link over the step, a character a part: ' ' idle, then ".:-=+*#%" to '@' full.
std::string utilisation_strip(const sim::SharedLink& link);

/// The object `network` of a result file.
void write_network(base::JsonWriter& json, const sim::NetworkResult& network, double step_time);
sim::NetworkResult read_network(base::Fields from);

}  // namespace paceline::reports
