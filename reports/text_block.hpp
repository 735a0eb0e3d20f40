// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"

/// Plain text in columns. Widths count characters, not bytes.
namespace paceline::reports {

/// How a text report may look: plain in files and pipes, richer on a terminal.
struct TextStyle {
  bool colour = false;  ///< ANSI colours
  bool blocks = false;  ///< UTF-8 block characters for bars, else '#'
  int width = 100;      ///< columns
};

/// What standard output allows: colour on a terminal unless NO_COLOR is set or TERM is "dumb",
/// blocks where the locale says UTF-8.
TextStyle terminal_style();

enum class Ink { Plain, Bold, Dim, Red, Green, Yellow, Blue };
/// `text` in a colour when the style allows it.
std::string paint(std::string_view text, Ink ink, const TextStyle& style);

using base::columns, base::pad_left, base::pad_right;
/// Control characters become spaces: names from files must not steer a terminal.
std::string printable(std::string_view text);
/// Cut to `width` columns with "..." where longer.
std::string cut(std::string_view text, int width);
/// Lines of at most `width` columns, broken at spaces where possible.
std::vector<std::string> wrap(std::string_view text, int width);
/// `share` (0..1) of `width` columns; anything above zero shows at least one mark.
std::string bar(double share, int width, const TextStyle& style);

}  // namespace paceline::reports
