// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <catch2/catch.hpp>
#include <limits>

using namespace paceline::base;

TEST_CASE("times are shown in the unit that fits", "[base]") {
  CHECK(format_seconds(Seconds(0)) == "0 s");
  CHECK(format_seconds(Seconds(2e-12)) == "2.00 ps");
  CHECK(format_seconds(Seconds(37e-6)) == "37.0 us");
  CHECK(format_seconds(Seconds(0.00842)) == "8.42 ms");
  CHECK(format_seconds(Seconds(14.61)) == "14.61 s");
  CHECK(format_seconds(Seconds(0.9999)) == "1.000 s");
  CHECK(format_seconds(Seconds(0.999e-3)) == "999 us");
  CHECK(format_seconds(Seconds(599)) == "599.0 s");
  CHECK(format_seconds(Seconds(3600)) == "60.00 min");
  CHECK(format_seconds(Seconds(86400)) == "24.0 h");
  CHECK(format_seconds(Seconds(86400 * 54)) == "54.0 days");
  CHECK(format_seconds(Seconds(-0.00842)) == "-8.42 ms");
}

TEST_CASE("sizes are binary, rates and counts decimal", "[base]") {
  CHECK(format_bytes(Bytes(0)) == "0 B");
  CHECK(format_bytes(Bytes(1023)) == "1023 B");
  CHECK(format_bytes(Bytes(1024)) == "1.0 KiB");
  CHECK(format_bytes(Bytes(1024 * 1024 - 1)) == "1.0 MiB");
  CHECK(format_bytes(Bytes(45.6 * 0x1p30)) == "45.6 GiB");
  CHECK(format_rate(BytesPerSecond(50e9)) == "50.0 GB/s");
  CHECK(format_rate(BytesPerSecond(3.35e12)) == "3.35 TB/s");
  CHECK(format_rate(BytesPerSecond(450e9)) == "450 GB/s");
  CHECK(format_rate(BytesPerSecond(999.9e9)) == "1.00 TB/s");
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(2.5) == "2.50");
  CHECK(format_count(71800) == "71.8 k");
  CHECK(format_count(999'999) == "1.00 M");
  CHECK(format_count(70.6e9) == "70.6 B");
  CHECK(format_count(15e12) == "15.0 T");
  CHECK(format_count(1e15) == "1000 T");
  CHECK(format_percent(0.545) == "54.5 %");
  CHECK(format_percent(-0.0001) == "0.0 %");
}

TEST_CASE("rounded zeros have no sign, and nothing depends on a locale", "[base]") {
  CHECK(format_fixed(-0.001, 2) == "0.00");
  CHECK(format_fixed(1234567.5, 1) == "1234567.5");
  CHECK(format_fixed(2.5, 0) == "2");
  CHECK(format_fixed(std::numeric_limits<double>::infinity(), 1) == "inf");
}
