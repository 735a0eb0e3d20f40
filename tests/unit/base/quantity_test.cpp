// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <limits>

#include "base/config.hpp"
#include "base/text.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline::base;
using tests::message_of;

namespace {

enum class Wanted { Time, Size, Rate, Compute, Power };

double parse(Wanted wanted, std::string_view text) {
  switch (wanted) {
    case Wanted::Time:
      return parse_seconds(text, "x").value;
    case Wanted::Size:
      return parse_bytes(text, "x").value;
    case Wanted::Rate:
      return parse_rate(text, "x").value;
    case Wanted::Compute:
      return parse_flops_rate(text, "x").value;
    case Wanted::Power:
      return parse_watts(text, "x").value;
  }
  return -1;
}

}  // namespace

TEST_CASE("every unit means what it says, exactly", "[base]") {
  struct Row {
    Wanted wanted;
    const char* text;
    double value;
  };
  const auto row = GENERATE(values<Row>({
      {Wanted::Time, "1 s", 1},
      {Wanted::Time, "2.5ms", 0.0025},
      {Wanted::Time, "5 us", 5e-6},
      {Wanted::Time, "7 ns", 7e-9},
      {Wanted::Time, "3 min", 180},
      {Wanted::Time, "1.5 h", 5400},
      {Wanted::Time, "2 day", 172800},
      {Wanted::Time, "0 us", 0},
      {Wanted::Time, "-0 s", 0},
      {Wanted::Time, "  1  s  ", 1},
      {Wanted::Time, "+1e-3 s", 0.001},
      {Wanted::Size, "12 B", 12},
      {Wanted::Size, "1 kB", 1e3},
      {Wanted::Size, "1 MB", 1e6},
      {Wanted::Size, "80 GB", 80e9},
      {Wanted::Size, "1 TB", 1e12},
      {Wanted::Size, "1 PB", 1e15},
      {Wanted::Size, "1 KiB", 1024},
      {Wanted::Size, "1 MiB", 1048576},
      {Wanted::Size, "80 GiB", 85899345920},
      {Wanted::Size, "1 TiB", 1099511627776},
      {Wanted::Rate, "1 B/s", 1},
      {Wanted::Rate, "1 kB/s", 1e3},
      {Wanted::Rate, "1 MB/s", 1e6},
      {Wanted::Rate, "900 GB/s", 900e9},
      {Wanted::Rate, "3.35 TB/s", 3350e9},
      {Wanted::Rate, "1 GiB/s", 1073741824},
      {Wanted::Rate, "400 Gb/s", 50e9},
      {Wanted::Rate, "1.6 Tb/s", 200e9},
      {Wanted::Rate, "8 Mb/s", 1e6},
      {Wanted::Compute, "8 FLOP/s", 8},
      {Wanted::Compute, "8 GFLOP/s", 8e9},
      {Wanted::Compute, "989.4 TFLOP/s", 989.4e12},
      {Wanted::Compute, "1.1 PFLOP/s", 1.1e15},
      {Wanted::Power, "700 W", 700},
      {Wanted::Power, "1.2 kW", 1200},
  }));
  INFO(row.text);
  CHECK(parse(row.wanted, row.text) == row.value);
}

TEST_CASE("a decimal means the same double in every decimal unit", "[base]") {
  CHECK(parse_rate("3.35 TB/s", "x") == parse_rate("3350 GB/s", "x"));
  CHECK(parse_rate("0.0335e2 TB/s", "x") == parse_rate("3350 GB/s", "x"));
  CHECK(parse_seconds("0.1 ms", "x") == parse_seconds("100 us", "x"));
  CHECK(parse_seconds("0.3 us", "x").value == 0.3e-6);
}

TEST_CASE("a malformed quantity is refused with what would be right", "[base]") {
  struct Row {
    Wanted wanted;
    const char* text;
    const char* message;
  };
  const auto row = GENERATE(values<Row>({
      {Wanted::Rate, "400", "the number '400' needs a unit; write 400 Gb/s"},
      {Wanted::Time, "1e-3", "the number '1e-3' needs a unit; write 1e-3 us"},
      {Wanted::Size, "80", "write 80 GiB"},
      {Wanted::Compute, "989", "write 989 TFLOP/s"},
      {Wanted::Power, "700", "write 700 W"},
      {Wanted::Rate, "400 GB",
       "'GB' is the unit of a size, but this is a rate; units of a rate: B/s"},
      {Wanted::Size, "80 GB/s", "'GB/s' is the unit of a rate, but this is a size"},
      {Wanted::Time, "5 W",
       "'W' is the unit of a power, but this is a time; units of a time: s, ms"},
      {Wanted::Rate, "400 Gbps", "unknown unit 'Gbps'; units of a rate: B/s, kB/s, MB/s, GB/s"},
      {Wanted::Rate, "400 gb/s", "unknown unit 'gb/s'"},
      {Wanted::Compute, "989 TFLOPS", "unknown unit 'TFLOPS'; units of a compute rate: FLOP/s"},
      {Wanted::Time, "5 us us", "unknown unit 'us us'"},
      {Wanted::Time, "5 us\n", "unknown unit 'us\\n'"},
      {Wanted::Time, "-5 us", "'-5 us' is negative; give 0 or more"},
      {Wanted::Time, "nan s", "'nan s' is not a time; write it as 400 us"},
      {Wanted::Time, "inf s", "'inf s' is not a time"},
      {Wanted::Time, "-inf s", "is not a time"},
      {Wanted::Time, ".inf", "is not a time"},
      {Wanted::Time, "1e400 s", "'1e400 s' is beyond the range of a number"},
      {Wanted::Compute, "1e308 PFLOP/s", "is beyond the range of a number"},
      {Wanted::Time, "1e308 day", "is beyond the range of a number"},
      {Wanted::Time, "1e99999999999999999999 ms", "is beyond the range of a number"},
      {Wanted::Time, "1e-400 s", "is beyond the range of a number"},
      {Wanted::Time, "1e11 s", "is out of range; a time is between"},
      {Wanted::Size, "1e30 B", "is out of range; a size is between 1e-06 B and 1e+24 B"},
      {Wanted::Rate, "1e-300 GB/s", "is out of range; a rate is between 1 B/s"},
      {Wanted::Size, "0x10 B", "'0x10 B' is not a size; digits without separators"},
      {Wanted::Size, "1_000 B", "'1_000 B' is not a size; digits without separators"},
      {Wanted::Size, "1,000 B", "'1,000 B' is not a size; digits without separators"},
      {Wanted::Size, "1.2.3 B", "'1.2.3 B' is not a size"},
      {Wanted::Size, "", "'' is not a size; write it as 400 GiB"},
      {Wanted::Size, "GB", "'GB' is not a size"},
      {Wanted::Size, "e5 B", "is not a size"},
      {Wanted::Size, ". B", "is not a size"},
      {Wanted::Size, "+ 5 B", "is not a size"},
      {Wanted::Size, "--5 B", "is not a size"},
      {Wanted::Size, "1e B", "unknown unit 'e B'"},
  }));
  INFO(row.text);
  CHECK_THAT(message_of([&] { parse(row.wanted, row.text); }),
             Catch::StartsWith("x: ") && Catch::Contains(row.message));
}

TEST_CASE("whole numbers are read exactly and bounded", "[base]") {
  CHECK(parse_integer("42", "x", 0, 100) == 42);
  CHECK(parse_integer("+42", "x", 0, 100) == 42);
  CHECK(parse_integer("-3", "x", -5, 5) == -3);
  CHECK(parse_integer("1e12", "x", 0, 1'000'000'000'000'000) == 1'000'000'000'000);
  CHECK(parse_integer("8.0", "x", 0, 10) == 8);
  const auto most = std::numeric_limits<std::int64_t>::max();
  CHECK(parse_integer("9223372036854775807", "x", 0, most) == most);

  struct Row {
    const char* text;
    const char* message;
  };
  const auto row = GENERATE(values<Row>({
      {"0", "x: '0' is out of range; it must be between 1 and 8"},
      {"9", "x: '9' is out of range; it must be between 1 and 8"},
      {"-1", "out of range"},
      {"9223372036854775808", "out of range"},
      {"1e300", "out of range"},
      {"1e400", "beyond the range of a number"},
      {"2.5", "'2.5' is not a whole number"},
      {"0x4", "'0x4' is not a whole number"},
      {"4x", "'4x' is not a whole number"},
      {"four", "'four' is not a whole number"},
      {"", "'' is not a whole number"},
      {"1_0", "is not a whole number"},
      {"1,0", "is not a whole number"},
      {"+-4", "is not a whole number"},
      {"4 GB", "'4 GB' is not a whole number; this value has no unit"},
      {"nan", "is not a whole number"},
      {"true", "is not a whole number"},
  }));
  INFO(row.text);
  CHECK_THAT(message_of([&] { parse_integer(row.text, "x", 1, 8); }), Catch::Contains(row.message));
  CHECK_THAT(message_of([&] { parse_integer("0", "x", 1, most); }),
             Catch::EndsWith("it must be at least 1"));
}

TEST_CASE("numbers are finite decimals within their bounds", "[base]") {
  CHECK(parse_number("0.25", "x", 0, 1) == 0.25);
  CHECK(parse_number("-2.5e-1", "x", -1, 1) == -0.25);
  CHECK(parse_number("1.", "x", 0, 1) == 1);
  CHECK(parse_number(".5", "x", 0, 1) == 0.5);
  const double infinite = std::numeric_limits<double>::infinity();
  struct Row {
    const char* text;
    const char* message;
  };
  const auto row = GENERATE(values<Row>({
      {"1.01", "'1.01' is out of range; it must be between 0 and 1"},
      {"-0.1", "out of range"},
      {"nan", "'nan' is not a number"},
      {"NaN", "is not a number"},
      {".nan", "is not a number"},
      {"inf", "is not a number"},
      {"infinity", "is not a number"},
      {"1e400", "'1e400' is beyond the range of a number"},
      {"0x1p3", "is not a number"},
      {"1e", "is not a number"},
      {"1 2", "is not a number"},
      {"1,5", "'1,5' is not a number; write decimal digits, without separators"},
      {"50 %", "'50 %' is not a number; this value has no unit"},
      {"", "is not a number"},
  }));
  INFO(row.text);
  CHECK_THAT(message_of([&] { parse_number(row.text, "x", 0, 1); }), Catch::Contains(row.message));
  CHECK_THAT(message_of([&] { parse_number("-1", "x", 0, infinite); }),
             Catch::EndsWith("it must be at least 0"));
  CHECK_THAT(message_of([&] { parse_number("1", "x", -infinite, 0); }),
             Catch::EndsWith("it must be at most 0"));
}

TEST_CASE("quantities print in the unit people would write", "[base]") {
  CHECK(unit_text(Seconds(5e-6)) == "5 us");
  CHECK(unit_text(Seconds(0)) == "0 s");
  CHECK(unit_text(Seconds(14.61)) == "14.61 s");
  CHECK(unit_text(Bytes(80 * 0x1p30)) == "80 GiB");
  CHECK(unit_text(Bytes(80e9)) == "80 GB");
  CHECK(unit_text(Bytes(1000)) == "1 kB");
  CHECK(unit_text(BytesPerSecond(25e9)) == "25 GB/s");
  CHECK(unit_text(BytesPerSecond(3.35e12)) == "3.35 TB/s");
  CHECK(unit_text(FlopsPerSecond(989.4e12)) == "989.4 TFLOP/s");
  CHECK(unit_text(Watts(700)) == "700 W");
  CHECK(unit_text(Watts(1200)) == "1.2 kW");
}
