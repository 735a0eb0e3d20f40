// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

#include "base/config.hpp"
#include "base/message.hpp"

namespace paceline::models {

/// Calls f(word, "path:line:column") for every line of a file of one number a line, without blanks
/// around it; empty lines and lines that begin with '#' are skipped.
template <class F>
void for_each_line(const std::string& path, std::size_t most_bytes, const F& f) {
  const std::string text = base::read_file(path, most_bytes);
  std::size_t begin = 0;
  for (int line = 1; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view word(text.data() + begin, end - begin);
    begin = end + 1;
    const std::size_t from = word.find_first_not_of(" \t\r");
    if (from == std::string_view::npos || word[from] == '#') continue;
    word = word.substr(from, word.find_last_not_of(" \t\r") - from + 1);
    f(word, base::one_line(path) + ":" + std::to_string(line) + ":" + std::to_string(from + 1));
  }
}

}  // namespace paceline::models
