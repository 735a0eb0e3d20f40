// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/json.hpp"
#include "reports/svg.hpp"
#include "reports/text_block.hpp"
#include "sim/result.hpp"

/// The run with failures and checkpoints.
namespace paceline::reports {

void write_outlook(base::JsonWriter& json, const sim::RunOutlook& outlook);
sim::RunOutlook read_outlook(base::Fields from);
/// `hours_a_day` in which the run works: below 24 it says how long it takes by the calendar.
std::vector<std::string> outlook_lines(const sim::RunOutlook& outlook, const TextStyle& style = {},
                                       double hours_a_day = 24);

/// The sampled run, each character as high as the share of its time that is work: eighths of a
/// block, or without block characters ninths, 9 for all of it.
std::string run_bar(const sim::RunOutlook& outlook, const TextStyle& style);

/// Spans of the sampled run that JSON holds, from the first on.
inline constexpr std::size_t kMostRunSpans = 200;

/// Height of what draw_run draws.
inline constexpr double kRunStrip = 74;
/// The sampled run as a strip, with what stopped it in colours.
void draw_run(svg::Picture& picture, const sim::RunOutlook& outlook, double x, double y,
              double width);

}  // namespace paceline::reports
