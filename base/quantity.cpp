// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/config.hpp"
#include "base/json.hpp"
#include "base/message.hpp"
#include "base/text.hpp"

namespace paceline::base {
namespace {

/// One unit: value = number * 10^exponent * factor. Shifting the decimal exponent before the text
/// becomes a double keeps 3.35 TB/s and 3350 GB/s the same number.
struct Unit {
  std::string_view name;
  int exponent;
  double factor;
  bool print;  ///< unit_text may choose it
};

struct Kind {
  std::string_view noun;     ///< "a time"
  std::string_view example;  ///< unit for the hint after a bare number
  std::span<const Unit> units;
  /// In the first unit, 0 aside: slips of the hand lie outside, and what would add up to infinity.
  double least, most;
};

constexpr double kKiB = 1024;
constexpr std::array<Unit, 7> kTimes{{{"s", 0, 1, true},
                                      {"ms", -3, 1, true},
                                      {"us", -6, 1, true},
                                      {"ns", -9, 1, true},
                                      {"min", 0, 60, false},
                                      {"h", 0, 3600, false},
                                      {"day", 0, 86400, false}}};
constexpr std::array<Unit, 10> kSizes{{{"B", 0, 1, true},
                                       {"kB", 3, 1, true},
                                       {"MB", 6, 1, true},
                                       {"GB", 9, 1, true},
                                       {"TB", 12, 1, true},
                                       {"PB", 15, 1, true},
                                       {"KiB", 0, kKiB, true},
                                       {"MiB", 0, kKiB* kKiB, true},
                                       {"GiB", 0, kKiB* kKiB* kKiB, true},
                                       {"TiB", 0, kKiB* kKiB* kKiB* kKiB, true}}};
constexpr std::array<Unit, 9> kRates{{{"B/s", 0, 1, true},
                                      {"kB/s", 3, 1, true},
                                      {"MB/s", 6, 1, true},
                                      {"GB/s", 9, 1, true},
                                      {"TB/s", 12, 1, true},
                                      {"GiB/s", 0, kKiB* kKiB* kKiB, false},
                                      {"Mb/s", 6, 0.125, false},
                                      {"Gb/s", 9, 0.125, false},
                                      {"Tb/s", 12, 0.125, false}}};
constexpr std::array<Unit, 4> kFlopRates{{{"FLOP/s", 0, 1, true},
                                          {"GFLOP/s", 9, 1, true},
                                          {"TFLOP/s", 12, 1, true},
                                          {"PFLOP/s", 15, 1, true}}};
constexpr std::array<Unit, 2> kPowers{{{"W", 0, 1, true}, {"kW", 3, 1, true}}};

constexpr Kind kTime{"a time", "us", kTimes, 1e-18, 1e10};  // 317 years
constexpr Kind kSize{"a size", "GiB", kSizes, 1e-6, 1e24};
constexpr Kind kRate{"a rate", "Gb/s", kRates, 1, 1e300};
constexpr Kind kFlopRate{"a compute rate", "TFLOP/s", kFlopRates, 1, 1e24};
constexpr Kind kPower{"a power", "W", kPowers, 1e-6, 1e15};
constexpr std::array<const Kind*, 5> kKinds{&kTime, &kSize, &kRate, &kFlopRate, &kPower};

bool digit(char c) { return c >= '0' && c <= '9'; }

/// Length of the decimal number `text` begins with, 0 when it begins with none.
std::size_t number_length(std::string_view text) {
  std::size_t i = 0, digits = 0;
  if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
  for (; i < text.size() && digit(text[i]); ++i) ++digits;
  if (i < text.size() && text[i] == '.') {
    for (++i; i < text.size() && digit(text[i]); ++i) ++digits;
  }
  if (digits == 0) return 0;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    std::size_t e = i + 1;
    if (e < text.size() && (text[e] == '+' || text[e] == '-')) ++e;
    if (e < text.size() && digit(text[e])) {
      for (i = e; i < text.size() && digit(text[i]); ++i) {
      }
    }
  }
  return i;
}

/// The double nearest to number * 10^shift; NaN when that is beyond a double's range.
double scaled(std::string_view number, int shift) {
  if (number.starts_with('+')) number.remove_prefix(1);
  std::string text(number);
  if (shift != 0) {
    long exponent = 0;
    if (const std::size_t e = number.find_first_of("eE"); e != std::string_view::npos) {
      const char* first = number.data() + e + 1 + (number[e + 1] == '+' ? 1 : 0);
      const auto parsed = std::from_chars(first, number.data() + number.size(), exponent);
      if (parsed.ec != std::errc() || std::abs(exponent) > 100'000) exponent = 100'000;
      text.resize(e);
    }
    text += 'e';
    text += std::to_string(exponent + shift);
  }
  double value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = code == std::errc() && end == text.data() + text.size();
  return good ? value : std::numeric_limits<double>::quiet_NaN();
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string unit_list(const Kind& kind) {
  std::string out;
  for (const Unit& unit : kind.units) out += (out.empty() ? "" : ", ") + std::string(unit.name);
  return out;
}

const Unit* find_unit(const Kind& kind, std::string_view name) {
  for (const Unit& unit : kind.units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

[[noreturn]] void refuse_unit(const Kind& kind, std::string_view number, std::string_view name,
                              const std::string& where) {
  const std::string units = "units of " + std::string(kind.noun) + ": " + unit_list(kind);
  if (name.empty()) {
    throw Error(
        where, "the number " + quote(number) + " needs a unit",
        "write " + one_line(number, 40) + " " + std::string(kind.example) + " (" + units + ")");
  }
  for (const Kind* other : kKinds) {
    if (find_unit(*other, name) == nullptr) continue;
    throw Error(where,
                quote(name) + " is the unit of " + std::string(other->noun) + ", but this is " +
                    std::string(kind.noun),
                units);
  }
  throw Error(where, "unknown unit " + quote(name), units);
}

std::string print_quantity(double value, const Kind& kind);

double parse_quantity(std::string_view text, const std::string& where, const Kind& kind) {
  const std::string wanted = "write it as 400 " + std::string(kind.example);
  text = trim(text);
  const std::size_t length = number_length(text);
  if (length == 0) {
    throw Error(where, quote(text) + " is not " + std::string(kind.noun), wanted);
  }
  const std::string_view number = text.substr(0, length);
  const std::string_view name = trim(text.substr(length));
  const Unit* unit = find_unit(kind, name);
  if (unit == nullptr) {
    // "0x10 B", "1_000 B", "1,000 B": the number is what is wrong, not the unit.
    if (!name.empty() && std::string_view("xX_,.'").find(name[0]) != std::string_view::npos) {
      throw Error(where, quote(text) + " is not " + std::string(kind.noun),
                  "digits without separators, then the unit: 400 " + std::string(kind.example));
    }
    refuse_unit(kind, number, name, where);
  }
  const double value = scaled(number, unit->exponent) * unit->factor;
  if (!std::isfinite(value)) throw Error(where, quote(text) + " is beyond the range of a number");
  if (value < 0) throw Error(where, quote(text) + " is negative", "give 0 or more");
  if (value != 0 && (value < kind.least || value > kind.most)) {
    throw Error(where, quote(text) + " is out of range",
                std::string(kind.noun) + " is between " + print_quantity(kind.least, kind) +
                    " and " + print_quantity(kind.most, kind));
  }
  return std::abs(value);  // "-0 s" is zero
}

/// The shortest "number unit" that parses back to `value`, preferring numbers of 1 to 999.
std::string print_quantity(double value, const Kind& kind) {
  PACELINE_CHECK(std::isfinite(value) && value >= 0);
  std::string best = shortest(value) + " " + std::string(kind.units.front().name);
  if (value == 0) return best;
  const auto size = [](const std::string& text, double number) {
    return text.find(' ') + (number >= 1 && number < 1000 ? 0 : 100);
  };
  std::size_t best_size = size(best, value);
  for (const Unit& unit : kind.units) {
    if (!unit.print) continue;
    const double number = value / std::pow(10.0, unit.exponent) / unit.factor;
    if (!std::isfinite(number) || number <= 0) continue;
    // The division rounds: also try the number with its last digits rounded away.
    for (const int digits : {15, 16, 17}) {
      std::array<char, 40> buffer{};
      const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                     std::chars_format::general, digits);
      const double rounded = scaled({buffer.data(), end.ptr}, 0);
      const std::string text = shortest(rounded);
      if (scaled(text, unit.exponent) * unit.factor != value) continue;
      const std::string candidate = text + " " + std::string(unit.name);
      if (size(candidate, rounded) < best_size) {
        best = candidate;
        best_size = size(candidate, rounded);
      }
      break;
    }
  }
  return best;
}

double any_number(std::string_view text, const std::string& where, std::string_view wanted) {
  const std::size_t length = number_length(text);
  if (length == 0 || length != text.size()) {
    const bool unit = length > 0 && text[length] == ' ';
    throw Error(where, quote(text) + " is not " + std::string(wanted),
                unit ? "this value has no unit" : "write decimal digits, without separators");
  }
  const double value = scaled(text, 0);
  if (!std::isfinite(value)) throw Error(where, quote(text) + " is beyond the range of a number");
  return value;
}

[[noreturn]] void out_of_range(std::string_view text, const std::string& where,
                               const std::string& low, const std::string& high) {
  const std::string range = high.empty()  ? "at least " + low
                            : low.empty() ? "at most " + high
                                          : "between " + low + " and " + high;
  throw Error(where, quote(text) + " is out of range", "it must be " + range);
}

}  // namespace

std::int64_t parse_integer(std::string_view text, const std::string& where, std::int64_t low,
                           std::int64_t high) {
  using Limit = std::numeric_limits<std::int64_t>;
  const auto refuse = [&] {
    out_of_range(text, where, low == Limit::min() ? "" : std::to_string(low),
                 high == Limit::max() ? "" : std::to_string(high));
  };
  text = trim(text);
  std::string_view digits = text;
  if (text.size() > 1 && text[0] == '+' && digit(text[1])) digits.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc() || end != digits.data() + digits.size()) {
    const double number = any_number(text, where, "a whole number");  // 1e12 is one, too
    if (number != std::floor(number)) throw Error(where, quote(text) + " is not a whole number");
    if (std::abs(number) > 0x1p53) refuse();
    value = static_cast<std::int64_t>(number);
  }
  if (value < low || value > high) refuse();
  return value;
}

double parse_number(std::string_view text, const std::string& where, double low, double high) {
  text = trim(text);
  const double value = any_number(text, where, "a number");
  if (value < low || value > high) {
    const double largest = std::numeric_limits<double>::max();
    out_of_range(text, where, low < -largest ? "" : shortest(low),
                 high > largest ? "" : shortest(high));
  }
  return value;
}

Seconds parse_seconds(std::string_view text, const std::string& where) {
  return Seconds(parse_quantity(text, where, kTime));
}
Bytes parse_bytes(std::string_view text, const std::string& where) {
  return Bytes(parse_quantity(text, where, kSize));
}
BytesPerSecond parse_rate(std::string_view text, const std::string& where) {
  return BytesPerSecond(parse_quantity(text, where, kRate));
}
FlopsPerSecond parse_flops_rate(std::string_view text, const std::string& where) {
  return FlopsPerSecond(parse_quantity(text, where, kFlopRate));
}
Watts parse_watts(std::string_view text, const std::string& where) {
  return Watts(parse_quantity(text, where, kPower));
}

std::string unit_text(Seconds s) { return print_quantity(s.value, kTime); }
std::string unit_text(Bytes b) { return print_quantity(b.value, kSize); }
std::string unit_text(BytesPerSecond r) { return print_quantity(r.value, kRate); }
std::string unit_text(FlopsPerSecond r) { return print_quantity(r.value, kFlopRate); }
std::string unit_text(Watts w) { return print_quantity(w.value, kPower); }

}  // namespace paceline::base
