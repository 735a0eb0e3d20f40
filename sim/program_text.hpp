// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Characters of the text forms of Programs; no locale.
namespace paceline::sim {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace paceline::sim
