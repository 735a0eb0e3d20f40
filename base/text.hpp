// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/units.hpp"

/// Numbers as people read them. Fixed rules, no locale: the same value gives the same text.
namespace paceline::base {

std::string format_seconds(Seconds s);        ///< "14.61 s", "8.42 ms", "37.0 us"
std::string format_bytes(Bytes b);            ///< binary: "45.6 GiB"
std::string format_rate(BytesPerSecond r);    ///< decimal: "50.0 GB/s"
std::string format_count(double n);           ///< "71.8 k", "70.6 B": k, M, B, T
std::string format_percent(double fraction);  ///< 0.545 -> "54.5 %"
std::string format_fixed(double v, int digits);
/// SI text that parse_* reads back to the same value, for resolved scenarios: "25 GB/s", "5 us".
std::string unit_text(Seconds s);
std::string unit_text(Bytes b);
std::string unit_text(BytesPerSecond r);
std::string unit_text(FlopsPerSecond r);
std::string unit_text(Watts w);

/// Characters of UTF-8 text, and columns of a table by that measure.
int columns(std::string_view text);
std::string pad_right(std::string_view text, int width);  ///< text, then spaces
std::string pad_left(std::string_view text, int width);   ///< spaces, then text

}  // namespace paceline::base
