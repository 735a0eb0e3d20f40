// SPDX-License-Identifier: Apache-2.0
#include "reports/names.hpp"

#include <cctype>

namespace paceline::reports {

namespace {

std::string replaced(std::string_view text, char separator) {
  std::string out;
  for (const char c : text) {
    const bool gap = c == ' ' || c == '-' || c == '_';
    out += gap ? separator : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return out;
}

template <class Enum>
std::vector<std::string> keys(int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back(key_name(sim::to_text(static_cast<Enum>(i))));
  return out;
}

}  // namespace

std::string key_name(std::string_view text) { return replaced(text, '_'); }
std::string title_name(std::string_view text) { return replaced(text, ' '); }

std::vector<std::string> part_keys() { return keys<sim::Part>(sim::kParts); }
std::vector<std::string> memory_part_keys() { return keys<sim::MemoryPart>(sim::kMemoryParts); }
std::vector<std::string> stream_keys() { return keys<sim::Stream>(sim::kStreams); }

}  // namespace paceline::reports
