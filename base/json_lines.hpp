// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/config.hpp"

/// Line files: one JSON object a line, growing by whole lines, the last one `{"complete": true,
/// …}`.
namespace paceline::base {

/// One line of a file; messages name its number as the line.
Document parse_json_line(std::string_view text, std::string file, int line,
                         const Limits& limits = {});

struct LinesRead {
  bool complete = false;   ///< the line that says so was there
  bool cut_short = false;  ///< there was a last line without an end; it was left out
  std::size_t lines = 0;   ///< given to `take`, the complete line among them
};

/// Calls `take` with every whole line; an Error when a line is no JSON, is longer than
/// `limits.bytes`, or when something follows the complete line.
LinesRead read_json_lines(std::string_view text, const std::string& file, const Limits& limits,
                          const std::function<void(const Document& line)>& take);

}  // namespace paceline::base
