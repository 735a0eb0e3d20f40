// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "reports/answer.hpp"
#include "reports/text_block.hpp"

namespace paceline::reports {

/// Lines of the whole printed answer at most: one screen.
inline constexpr int kScreenLines = 45;

/// The answer of `run` on one screen: step time, where it goes, memory, traffic, and below them
/// what was assumed and how to get the same answer again. Long lists of assumptions end with a
/// pointer to `paceline check`, which prints all of them.
std::string to_text(const Answer& answer, const TextStyle& style);

/// "tp 4 + sequence parallel, pp 4 x 5 chunks, cp 2, dp 2, zero 1; order tp-cp-ep-dp-pp".
std::string describe_layout(const models::Parallel& parallel,
                            const models::ScheduleChoice& schedule);

}  // namespace paceline::reports
