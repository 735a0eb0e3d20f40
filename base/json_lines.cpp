// SPDX-License-Identifier: Apache-2.0
#include "base/json_lines.hpp"

#include <limits>

#include "base/message.hpp"

namespace paceline::base {

LinesRead read_json_lines(std::string_view text, const std::string& file, const Limits& limits,
                          const std::function<void(const Document& line)>& take) {
  const std::string shown = one_line(file);
  LinesRead read;
  for (int number = 1; !text.empty(); ++number) {
    const std::string where = shown + ":" + std::to_string(number) + ":1";
    if (number == std::numeric_limits<int>::max()) throw Error(where, "too many lines");
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      read.cut_short = true;
      return read;
    }
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (read.complete) throw Error(where, "a line after the one that says the file is complete");
    if (line.size() > limits.bytes)
      throw Error(where, "a line of " + std::to_string(line.size()) + " bytes",
                  "lines have at most " + std::to_string(limits.bytes));
    const Document document = parse_json_line(line, shown, number, limits);
    read.complete = find_path(document.root, "complete") != nullptr;
    take(document);
    ++read.lines;
  }
  return read;
}

}  // namespace paceline::base
