// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/answer.hpp"
#include "reports/text_block.hpp"

namespace paceline::reports {

inline constexpr std::string_view kComparisonSchema = "paceline-compare-1";

enum class Unit { Seconds, Bytes, Fraction, Count };

/// One quantity of every answer. Keys are those of the result file, nested ones with dots.
struct Row {
  std::string key;    ///< "breakdown_s.exposed_dp"
  std::string title;  ///< "exposed dp"
  std::string group;  ///< heading the row stands under
  Unit unit = Unit::Count;
  std::vector<double> values;  ///< by answer
};

/// What the answers can be compared in; quantities that are zero in all of them are left out.
/// Memory is that of each answer's fullest rank class.
std::vector<Row> compare(std::span<const Answer> answers);

/// The answers side by side; from the second on each value is followed by its ratio to the first.
std::string comparison_text(std::span<const Answer> answers, const TextStyle& style);
std::string comparison_json(std::span<const Answer> answers, std::string_view command);

}  // namespace paceline::reports
