// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

/// Pieces of one-line messages; input text is never printed raw.
namespace paceline::base {

/// Length (1-4) of the well-formed UTF-8 sequence at `at`, 0 when there is none.
std::size_t utf8_length(std::string_view text, std::size_t at);
/// The text with control characters escaped and ill-formed bytes replaced, cut after `limit` bytes.
std::string one_line(std::string_view text, std::size_t limit = 200);
/// one_line in single quotes, cut after 60 bytes: how messages show input.
std::string quote(std::string_view text);
/// "did you mean 'tp'?", or "one of a, b, c" when nothing is near; long lists are cut.
std::string suggest(std::string_view word, std::span<const std::string> names,
                    std::string_view list_intro);

}  // namespace paceline::base
