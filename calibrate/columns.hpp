// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <string>

namespace paceline::calibrate {

/// A column of a printed table: `text` at its left or right end, filled with spaces.
inline std::string left(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}
inline std::string right(std::string text, std::size_t width) {
  text.insert(0, text.size() < width ? width - text.size() : 0, ' ');
  return text;
}

}  // namespace paceline::calibrate
