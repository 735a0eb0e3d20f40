// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "sim/predict.hpp"

/// Names of parts and streams in files (`exposed_tp`) and on screen (`exposed tp`).
namespace paceline::reports {

/// The largest count a result file may state: up to here doubles hold every integer.
inline constexpr std::int64_t kLargestCount = std::int64_t{1} << 53;
/// And no number larger than this.
inline constexpr double kAny = 1e300;

/// Lower case with underscores, as JSON keys are written.
std::string key_name(std::string_view text);
/// The same with spaces.
std::string title_name(std::string_view text);

/// The keys by index of the enumerations: JSON key of Part p is part_keys()[p].
std::vector<std::string> part_keys();
std::vector<std::string> memory_part_keys();
std::vector<std::string> stream_keys();

}  // namespace paceline::reports
