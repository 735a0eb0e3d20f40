// SPDX-License-Identifier: Apache-2.0
#include "reports/text_block.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace paceline::reports {

namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = environment(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

/// Byte length of the first `width` characters.
std::size_t prefix_bytes(std::string_view text, int width) {
  std::size_t i = 0;
  for (int n = 0; i < text.size(); ++i) {
    if (!continues(text[i]) && n++ == width) break;
  }
  return i;
}

}  // namespace

TextStyle terminal_style() {
  TextStyle style;
  // mpirun gives its ranks a terminal, wherever its own output goes.
  if (isatty(STDOUT_FILENO) == 0 || !environment("OMPI_COMM_WORLD_RANK").empty()) return style;
  style.colour = environment("NO_COLOR").empty() && environment("TERM") != "dumb";
  style.blocks = utf8_locale();
  return style;
}

std::string paint(std::string_view text, Ink ink, const TextStyle& style) {
  if (!style.colour || ink == Ink::Plain) return std::string(text);
  const char* code = "";
  switch (ink) {
    case Ink::Plain:
      break;
    case Ink::Bold:
      code = "1";
      break;
    case Ink::Dim:
      code = "2";
      break;
    case Ink::Red:
      code = "1;31";
      break;
    case Ink::Green:
      code = "32";
      break;
    case Ink::Yellow:
      code = "33";
      break;
    case Ink::Blue:
      code = "34";
      break;
  }
  return std::string("\033[") + code + "m" + std::string(text) + "\033[0m";
}

std::string printable(std::string_view text) {
  std::string out(text);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto c = static_cast<unsigned char>(out[i]);
    if (c < 32 || c == 127) out[i] = ' ';
    // U+0080..U+009F are control characters too: C2 80 .. C2 9F.
    if (c == 0xC2 && i + 1 < out.size() && static_cast<unsigned char>(out[i + 1]) < 0xA0) {
      out[i] = out[i + 1] = ' ';
    }
  }
  return out;
}

std::string cut(std::string_view text, int width) {
  if (columns(text) <= width) return std::string(text);
  return std::string(text.substr(0, prefix_bytes(text, std::max(width - 3, 0)))) + "...";
}

std::vector<std::string> wrap(std::string_view text, int width) {
  std::vector<std::string> lines;
  while (columns(text) > width) {
    const std::size_t limit = prefix_bytes(text, width);
    const std::size_t space = text.substr(0, limit + 1).rfind(' ');
    const bool broken = space != std::string_view::npos && space > 0;
    lines.emplace_back(text.substr(0, broken ? space : limit));
    text.remove_prefix(broken ? space + 1 : limit);
  }
  if (!text.empty() || lines.empty()) lines.emplace_back(text);
  return lines;
}

std::string bar(double share, int width, const TextStyle& style) {
  if (!(share > 0)) return "";
  const int marks = std::clamp(static_cast<int>(std::lround(share * width)), 1, width);
  std::string out;
  for (int i = 0; i < marks; ++i) out += style.blocks ? "\u2588" : "#";
  return out;
}

}  // namespace paceline::reports
