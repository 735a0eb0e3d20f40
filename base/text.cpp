// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace paceline::base {
namespace {

struct Scale {
  double size;
  const char* name;
};

/// Decimals that show `digits` significant digits of `value`.
int decimals(double value, int digits) {
  int before = 1;
  for (double v = std::abs(value); v >= 10 && before < digits; v /= 10) ++before;
  return digits - before;
}

/// `value` in the largest unit of which it holds at least one, after rounding. Scales ascend.
template <class Digits>
std::string scaled(double value, std::span<const Scale> scales, Digits digits_of) {
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const double number = value / scales[i].size;
    const std::string text = format_fixed(number, digits_of(i, number));
    const bool last = i + 1 == scales.size();
    const double next = last ? 0 : scales[i + 1].size / scales[i].size;
    double shown = 0;  // 999.96 of one unit may round to 1 of the next
    std::from_chars(text.data(), text.data() + text.size(), shown);
    if (last || !(std::abs(shown) >= next)) {
      return *scales[i].name == '\0' ? text : text + " " + scales[i].name;
    }
  }
  return "";
}

int three(std::size_t, double number) { return decimals(number, 3); }

}  // namespace

std::string format_fixed(double v, int digits) {
  if (!std::isfinite(v)) return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
  std::array<char, 400> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v,
                                 std::chars_format::fixed, digits);
  const std::string text(buffer.data(), end.ptr);
  const bool zero = text.find_first_of("123456789") == std::string::npos;
  return zero && text[0] == '-' ? text.substr(1) : text;
}

std::string format_seconds(Seconds s) {
  static constexpr std::array<Scale, 5> kScales{
      {{1e-12, "ps"}, {1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1, "s"}}};
  const double value = s.value;
  const double size = std::abs(value);
  if (value == 0) return "0 s";
  if (size >= 172800) return format_fixed(value / 86400, decimals(value / 86400, 3)) + " days";
  if (size >= 7200) return format_fixed(value / 3600, decimals(value / 3600, 3)) + " h";
  if (size >= 600) return format_fixed(value / 60, decimals(value / 60, 4)) + " min";
  return scaled(value, kScales,
                [](std::size_t i, double number) { return decimals(number, i == 4 ? 4 : 3); });
}

std::string format_bytes(Bytes b) {
  static constexpr std::array<Scale, 6> kScales{{{1, "B"},
                                                 {0x1p10, "KiB"},
                                                 {0x1p20, "MiB"},
                                                 {0x1p30, "GiB"},
                                                 {0x1p40, "TiB"},
                                                 {0x1p50, "PiB"}}};
  return scaled(b.value, kScales, [](std::size_t i, double) { return i == 0 ? 0 : 1; });
}

std::string format_rate(BytesPerSecond r) {
  static constexpr std::array<Scale, 5> kScales{
      {{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}}};
  return scaled(r.value, kScales, three);
}

std::string format_count(double n) {
  static constexpr std::array<Scale, 5> kScales{
      {{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "B"}, {1e12, "T"}}};
  return scaled(n, kScales, [](std::size_t i, double number) {
    return i == 0 && number == std::floor(number) ? 0 : decimals(number, 3);
  });
}

std::string format_percent(double fraction) { return format_fixed(100 * fraction, 1) + " %"; }

int columns(std::string_view text) {
  const auto begins = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; };
  return static_cast<int>(std::count_if(text.begin(), text.end(), begins));
}

std::string pad_right(std::string_view text, int width) {
  std::string padded(text);
  return padded.append(static_cast<std::size_t>(std::max(0, width - columns(text))), ' ');
}

std::string pad_left(std::string_view text, int width) {
  std::string padded(static_cast<std::size_t>(std::max(0, width - columns(text))), ' ');
  return padded.append(text);
}

}  // namespace paceline::base
