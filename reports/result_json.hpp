// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/config.hpp"
#include "reports/answer.hpp"

namespace paceline::reports {

/// Format of result files. A reader accepts its own version only.
inline constexpr std::string_view kResultSchema = "paceline-result-1";

/// The result file (docs/formats.md): the same answer gives the same bytes.
std::string to_json(const Answer& answer);

/// Reads what to_json wrote; writing it again gives the same bytes. Throws base::Error for another
/// schema, a missing or unknown key, or a number out of range.
Answer read_answer(const base::Document& document);

/// Whether the document looks like a result rather than a scenario: it has `schema` and
/// `step_time_s`.
bool is_result(const base::Document& document);

}  // namespace paceline::reports
