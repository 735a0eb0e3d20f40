// SPDX-License-Identifier: Apache-2.0
#include "sim/program_file.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "sim/verify.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::sim;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::string orders(const std::string& table) {
  const ProgramFile file = parse_action_table(table, "t.csv");
  verify(file.program, &file.places);
  const std::string text = to_text(file.program);
  return text.substr(text.find("rank 0"));
}

std::string error_of(const std::string& text, const std::string& file = "t.csv") {
  return ::tests::message_of([&] {
    const ProgramFile read = parse_program_file(text, file);
    verify(read.program, &read.places);
  });
}

}  // namespace

TEST_CASE("a row per rank, with idle cells", "[sim]") {
  CHECK(orders("0F0,0F1,,0B0,0B1\n,1F0,1B0,1F1,1B1\n") ==
        "rank 0: 0F0 0F1 0BW0 0BW1\nrank 1: 1F0 1BW0 1F1 1BW1\n");
  CHECK(orders("\xef\xbb\xbf# by hand\r\n0F0, \"0B0\" \r\n\r\n1F0,1B0\r\n") ==
        "rank 0: 0F0 0BW0\nrank 1: 1F0 1BW0\n");
}

TEST_CASE("a column per rank below a header", "[sim]") {
  const char* expected = "rank 0: 0F0 0F1 0BW0 0BW1\nrank 1: 1F0 1BW0 1F1 1BW1\n";
  CHECK(orders("rank 0,rank 1\n0F0\n0F1,1F0\n,1B0\n0B0,1F1\n,1B1\n0B1\n") == expected);
  CHECK(orders("step,0,1\n0,0F0\n1,0F1,1F0\n2,,1B0\n3,0B0,1F1\n4,,1B1\n5,0B1\n") == expected);
}

TEST_CASE("letters of PyTorch: I is B, B is BW or, beside W alone, B", "[sim]") {
  const std::string split = "rank 0: 0F0 0B0 0W0\n";
  CHECK(orders("0F0,0I0,0W0\n") == split);
  CHECK(orders("0F0,0B0,0W0\n") == split);
  CHECK(orders("0F0,0B0\n") == "rank 0: 0F0 0BW0\n");
  CHECK(orders("0F0,0BW0,0F1,0B1,0W1\n") == "rank 0: 0F0 0BW0 0F1 0B1 0W1\n");
  CHECK_THAT(error_of("0F0,0I0,0B0,0W0\n"), Contains("has BW and a separate B or W"));
}

TEST_CASE("communication is passed over and fused pairs stay fused", "[sim]") {
  const std::string table =
      "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1,0RESHARD,0REDUCE_GRAD\n"
      "1RECV_F0,1F0,1RECV_F1,(1F1;1B0)OVERLAP_F_B,1SEND_B0,1B1,1SEND_B1\n";
  CHECK(orders(table) == "rank 0: 0F0 0F1 0BW0 0BW1\nrank 1: 1F0 (1F1&1BW0) 1BW1\n");
  CHECK(parse_action_table(table, "t.csv").passed_over == 11);
}

TEST_CASE("what is wrong with a table of actions is said where it stands", "[sim]") {
  CHECK_THAT(error_of("0F0,0X1\n"), StartsWith("t.csv:1:5: unknown action '0X1'"));
  CHECK_THAT(error_of("0F0\n1F0, 1B\n"), StartsWith("t.csv:2:6: '1B' is no action"));
  CHECK_THAT(error_of("0F0,0B4294967296"), StartsWith("t.csv:1:5: the number in"));
  CHECK_THAT(error_of("40000F0"), StartsWith("t.csv:1:1: the number in"));
  CHECK_THAT(error_of("rank 1,rank 0\n0F0"), Contains("here 'rank 0'"));
  CHECK_THAT(error_of("rank 0\n0F0,1F0"), StartsWith("t.csv:2:5: the row is longer"));
  CHECK_THAT(error_of("(0F0;0B0)OVERLAP"), Contains("is no action"));
  CHECK_THAT(error_of("(0F0)OVERLAP_F_B"), Contains("fuses fewer than two"));
  CHECK_THAT(error_of("\n\n"), StartsWith("t.csv:1:1: the table has no actions"));
}

TEST_CASE("missing, doubled and circular actions of a file are named with their lines", "[sim]") {
  CHECK_THAT(error_of("0F0,0B0\n1F0\n"),
             StartsWith("t.csv:2:1: stage 1, microbatch 0, slice 0 has neither BW nor both"));
  CHECK_THAT(error_of("0F0,0F0,0B0\n1F0,1B0\n"),
             StartsWith("t.csv:1:5: 0F0 (t.csv:1:1) stands again at t.csv:1:5"));
  CHECK_THAT(error_of("0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n"),
             StartsWith("t.csv:1:5: ranks wait for each other for ever; 0BW0 (t.csv:1:5) waits for "
                        "1BW0 (t.csv:2:13), behind 1F1; 1F1 (t.csv:2:1) waits for 0F1 "
                        "(t.csv:1:9), behind 0BW0"));
}

TEST_CASE("anything but .csv is the Program's own text", "[sim]") {
  const std::string text =
      "program stages=1 microbatches=1 slices=1\npass F down\npass BW up reads F frees F\n"
      "rank 0: 0BW0 0F0\n";
  CHECK_THAT(error_of(text, "own.txt"),
             StartsWith("own.txt:4:9: rank 0 waits for itself for ever; 0BW0 (own.txt:4:9) waits "
                        "for 0F0 (own.txt:4:14), behind 0BW0"));
  CHECK_THAT(error_of(text, "own.CSV"), Contains("unexpected column"));
}

TEST_CASE("buffers that are too small name the ring and the fewest that work", "[sim]") {
  const ProgramFile file =
      parse_action_table("0F0,0F1,0F2,0B0,0B1,0B2\n1F2,1F1,1F0,1B0,1B1,1B2\n", "t.csv");
  CHECK_NOTHROW(check_buffers(file.program, 3, &file.places));
  try {
    check_buffers(file.program, 1, &file.places);
    FAIL("buffers of 1 are too small");
  } catch (const base::Error& error) {
    CHECK(std::string(error.what()) ==
          "t.csv:2:5: with receive buffers of 1 message the ranks wait for each other: rank 0 "
          "cannot hand over the input of 1F1 (t.csv:2:5), the buffer of rank 1 is full, rank 1 "
          "waits at 1F2 (t.csv:2:1) for 0F2 (t.csv:1:9); 3 is the least that works");
  }
  for (int slots = 1; slots <= 3; ++slots) {
    const bool runs = runs_with_buffers(file.program, slots);
    CHECK(runs == (slots == 3));
  }
}
