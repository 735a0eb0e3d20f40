// SPDX-License-Identifier: Apache-2.0
#include "base/message.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/config.hpp"

namespace paceline::base {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// Optimal string alignment distance: insert, delete, replace, swap neighbours.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };
  const unsigned first = byte(at);
  const unsigned second = byte(at + 1);
  if (at >= text.size()) return 0;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return tail(at + 1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    return tail(at + 1) && tail(at + 2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90;
    const bool beyond = first == 0xF4 && second > 0x8F;
    return tail(at + 1) && tail(at + 2) && tail(at + 3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

std::string one_line(std::string_view text, std::size_t limit) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    if (out.size() >= limit) return out + "...";
    const std::size_t length = utf8_length(text, i);
    const auto c = static_cast<unsigned char>(text[i]);
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (length == 0 || c < 0x20 || c == 0x7F) {
      out += {'\\', 'x', kHex[c >> 4], kHex[c & 15]};
    } else {
      out += text.substr(i, length);
    }
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

std::string quote(std::string_view text) {
  std::string out = "'";
  out += one_line(text, 60);
  out += '\'';
  return out;
}

std::string suggest(std::string_view word, std::span<const std::string> names,
                    std::string_view list_intro) {
  constexpr std::size_t kShown = 24;
  std::string out;
  if (const std::string near = nearest(word, names); !near.empty()) {
    out = "did you mean " + quote(near) + "?";
    if (names.size() > 8) return out;
    out += " (";
  }
  const bool bracket = !out.empty();
  if (names.empty()) return out;
  out += std::string(list_intro) + " ";
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    out += (i == 0 ? "" : ", ") + one_line(names[i], 60);
  }
  if (names.size() > kShown) out += ", ...";
  return bracket ? out + ")" : out;
}

std::string nearest(std::string_view word, std::span<const std::string> names) {
  constexpr std::size_t kLongest = 64;  // the distance is quadratic, and nobody mistypes more
  if (word.empty() || word.size() > kLongest) return "";
  const std::string wanted = lower(word);
  std::string best;
  std::size_t best_distance = kLongest;
  for (const std::string& name : names) {
    if (name.empty() || name.size() > kLongest) continue;
    const std::string candidate = lower(name);
    std::size_t d = distance(wanted, candidate);
    const std::size_t allowed = std::max<std::size_t>(1, std::max(word.size(), name.size()) / 3);
    const bool prefix = wanted.size() >= 3 && candidate.starts_with(wanted);
    if (prefix) d = std::min<std::size_t>(d, 1);
    if (d < wanted.size() && d <= allowed && d < best_distance) {
      best = name;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace paceline::base
