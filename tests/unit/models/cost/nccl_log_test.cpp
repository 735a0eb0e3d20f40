// SPDX-License-Identifier: Apache-2.0
#include "models/cost/nccl_log.hpp"

#include <catch2/catch.hpp>

#include "base/config.hpp"
#include "base/error.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {

std::string path(const std::string& name) {
  return PACELINE_SOURCE "/tests/data/nccl-tests/" + name;
}
NcclLog read(const std::string& name, const NcclLogHints& hints = {}) {
  return read_nccl_log(path(name), hints);
}
std::string error_of(const std::string& text, const NcclLogHints& hints = {}) {
  return ::tests::message_of([&] { parse_nccl_log(text, "log.txt", hints); });
}

const std::string kHeader =
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n";
/// 1 MiB in 20 us on 8 ranks: 52.43 GB/s, 91.75 GB/s of bus bandwidth.
const std::string kRow = "1048576 262144 float sum -1 20.00 52.43 91.75 0 20.00 52.43 91.75 0\n";

std::string with(const std::string& from, const std::string& to) {
  std::string row = kRow;
  return kHeader + row.replace(row.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("a log under mpirun tags is read, its ranks from the bandwidths", "[models][nccl]") {
  const NcclLog log = read("tagged.txt");
  CHECK(log.op == CollectiveOp::AllReduce);
  CHECK(log.ranks == 8);
  CHECK(log.nodes == 0);
  REQUIRE(log.rows.size() == 11);
  CHECK(log.rows[3].size.value == 1048576);
  CHECK(log.rows[3].out_of_place.value == Approx(25.24e-6));
  CHECK(log.rows[3].in_place.value == Approx(24.99e-6));
  CHECK(log.rows[3].wrong == 0);
  CHECK(log.notes.size() == 2);
}

TEST_CASE("debug lines are passed over and cut rows left out", "[models][nccl]") {
  const NcclLog log = read("debug-cut.txt");
  CHECK(log.ranks == 2);
  CHECK(log.nccl == "2.21.5");
  CHECK(log.rows.size() == 6);
  int cut = 0;
  for (const std::string& note : log.notes) cut += note.find("cut off") != std::string::npos;
  CHECK(cut == 2);
}

TEST_CASE("several tables of one run are one log", "[models][nccl]") {
  const NcclLog log = read("two-tables.txt");
  CHECK(log.ranks == 16);
  CHECK(log.nodes == 2);
  CHECK(log.device == "NVIDIA H100 80GB HBM3");
  CHECK(log.nccl == "2.23.4");
  CHECK(log.rows.size() == 16);
}

TEST_CASE("N/A is no wrong result, and size 0 is no row", "[models][nccl]") {
  NcclLogHints hints;
  hints.op = CollectiveOp::AllGather;
  const NcclLog log = read("gather-na.txt", hints);
  CHECK(log.ranks == 16);
  CHECK(log.rows.size() == 8);
  CHECK(log.rows[0].wrong == -1);
  CHECK_THROWS_WITH(parse_nccl_log(base::read_file(path("gather-na.txt")), "log.txt"),
                    Catch::Contains("does not name its operation"));
  CHECK(parse_nccl_log(base::read_file(path("gather-na.txt")), "x/alltoall-16.txt").op ==
        CollectiveOp::AllToAll);
  hints.ranks = 8;
  CHECK_THROWS_WITH(read("gather-na.txt", hints), Catch::Contains("16 ranks, not of 8"));
}

TEST_CASE("a scatter under srun -l with Windows line ends is read", "[models][nccl]") {
  const NcclLog log = read("scatter-srun.txt");
  CHECK(log.op == CollectiveOp::ReduceScatter);
  CHECK(log.ranks == 8);
  CHECK(log.nodes == 1);
  CHECK(log.device == "NVIDIA H200");
  CHECK(log.nccl == "2.28.3");
  CHECK(log.rows.size() == 8);
}

TEST_CASE("releases that print an error column are read", "[models][nccl]") {
  const NcclLog log = read("old-error-column.txt");
  CHECK(log.op == CollectiveOp::AllReduce);
  CHECK(log.ranks == 4);
  CHECK(log.nodes == 1);
  CHECK(log.rows.size() == 8);
}

TEST_CASE("logs that say nothing or something wrong are refused with their place",
          "[models][nccl]") {
  CHECK_THROWS_WITH(read("one-rank.txt"), Catch::Contains("one rank"));
  CHECK_THROWS_WITH(read("wrong.txt"),
                    Catch::Contains("wrong.txt:8:") && Catch::Contains("8388608 bytes"));
  CHECK_THROWS_WITH(read("mixed.txt"), Catch::Contains("mixed.txt:") &&
                                           Catch::Contains("all_gather after one of all_reduce"));
  CHECK(error_of("").find("log.txt:1:1: no table") == 0);
  CHECK(error_of("hello\nworld\n").find("log.txt:2:1: no table") == 0);
  CHECK(error_of(kHeader).find("no table") != std::string::npos);
  CHECK(error_of(kRow).find("above the line that names the columns") != std::string::npos);
  CHECK(error_of("# all_reduce_perf\n# gather_perf\n").find("log.txt:2:1: a log of gather") == 0);
}

TEST_CASE("hostile numbers of a row are refused with line and column", "[models][nccl]") {
  CHECK(error_of(kHeader + kRow).empty());
  CHECK(error_of(with("20.00", "-20.00")).find("log.txt:2:29: time") == 0);
  CHECK(error_of(with("20.00", "nan")).find("log.txt:2:29: time") == 0);
  CHECK(error_of(with("20.00", "0.00")).find("must be above 0") != std::string::npos);
  CHECK(error_of(with("20.00", "1e300")).find("log.txt:2:29: time") == 0);
  CHECK(error_of(with("20.00", "2.00")).find("log.txt:2:34: algbw") == 0);
  CHECK(error_of(with("1048576", "99999999999999999")).find("log.txt:2:1: size") == 0);
  CHECK(error_of(with("1048576", "-1048576")).find("log.txt:2:1: size") == 0);
  CHECK(error_of(with("91.75 0", "91.75 3")).find("wrong results") != std::string::npos);
  NcclLogHints four;
  four.ranks = 4;
  CHECK(error_of(kHeader + kRow, four).find("not all_reduce on 4 ranks") != std::string::npos);
}

TEST_CASE("every beginning of a log is read or refused in one line", "[models][nccl]") {
  for (const char* name : {"tagged.txt", "debug-cut.txt", "scatter-srun.txt", "wrong.txt"}) {
    const std::string text = base::read_file(path(name));
    for (std::size_t n = 0; n < text.size(); n += 7) {
      try {
        const NcclLog log = parse_nccl_log(text.substr(0, n), name);
        CHECK(log.ranks >= 2);
        CHECK_FALSE(log.rows.empty());
      } catch (const base::Error& e) {
        CHECK(std::string(e.what()).find('\n') == std::string::npos);
      }
    }
  }
}
