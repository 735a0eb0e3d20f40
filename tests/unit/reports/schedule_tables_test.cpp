// SPDX-License-Identifier: Apache-2.0
#include "reports/schedule_tables.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/temporary_folder.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::reports;
using Catch::Matchers::Contains;

namespace {

constexpr const char* kHeader =
    "schedule,ranks,microbatches,forward,input_gradient,weight_gradient,hop,quantity,listed,note\n";

ScheduleTable table_of(const std::string& rows, const std::string& keys = "metric: absolute\n",
                       const std::string& header = kHeader) {
  const scratch::Folder folder;
  std::ofstream(folder.file("t.yaml"))
      << "schedules: t\ntitle: T\nsource: S\nbound: 1e-6\ntable: t.csv\n"
      << keys;
  std::ofstream(folder.file("t.csv")) << header << rows;
  return read_schedule_table(folder.file("t.yaml"));
}

std::string error_of(const std::string& rows, const std::string& keys = "metric: absolute\n",
                     const std::string& header = kHeader) {
  return ::tests::message_of([&] { table_of(rows, keys, header); });
}

}  // namespace

TEST_CASE("every schedule meets its published figures and closed forms", "[reports]") {
  std::size_t rows = 0;
  for (const std::string& file : schedule_table_files()) {
    for (const Suite& suite : validate_schedules(read_schedule_table(file))) {
      for (const Suite::Case& one : suite.cases) {
        INFO(suite.name << ": " << one.value.id << " " << one.why);
        REQUIRE(one.error);
        CHECK(std::abs(*one.error) <= *suite.quantity.bound.worst);
      }
      INFO(suite.name);
      CHECK(suite.passed());
      rows += suite.cases.size();
    }
  }
  CHECK(rows > 100);
}

TEST_CASE("a wrong figure exceeds the bound, a smaller one only where that is an error",
          "[reports]") {
  const std::string wrong = "1f1b,4,8,1,1,1,0,makespan,34,\n";
  CHECK_FALSE(validate_schedules(table_of(wrong)).front().passed());
  CHECK(validate_schedules(table_of(wrong, "metric: absolute\nrelation: at-most\n"))
            .front()
            .passed());
  CHECK_FALSE(validate_schedules(table_of("1f1b,4,8,1,1,1,0,makespan,32,\n",
                                          "metric: absolute\nrelation: at-most\n"))
                  .front()
                  .passed());
  CHECK_FALSE(
      validate_schedules(table_of("1f1b,4,8,1,1,1,0,peak_activations,5,\n")).front().passed());
  CHECK(validate_schedules(table_of("1f1b,2,2,1 2,1 2,1 2,0,makespan,15,\n")).front().passed());
}

TEST_CASE("a schedule that refuses the shape leaves its suite without an answer", "[reports]") {
  const auto suites = validate_schedules(
      table_of("\"{name: interleaved-1f1b, chunks: 2}\",4,7,1,1,1,0,makespan,1,\n"
               "nonesuch,4,7,1,1,1,0,makespan,1,\n"));
  REQUIRE(suites.size() == 1);
  CHECK_FALSE(suites.front().passed());
  CHECK_THAT(suites.front().cases[0].why, Contains("multiple of 4"));
  CHECK_THAT(suites.front().cases[1].why, Contains("unknown schedule 'nonesuch'"));
}

TEST_CASE("what is wrong with a table of figures is said where it stands", "[reports]") {
  CHECK_THAT(error_of("1f1b,0,8,1,1,1,0,makespan,1,\n"), Contains("t.csv:2:6: ranks"));
  CHECK_THAT(error_of("1f1b,4,8,x,1,1,0,makespan,1,\n"), Contains("t.csv:2:10: forward"));
  CHECK_THAT(error_of("1f1b,4,8,nan,1,1,0,makespan,1,\n"), Contains("forward"));
  CHECK_THAT(error_of("1f1b,4,8,1 1,1,1,0,makespan,1,\n"),
             Contains("2 times; one, or one for each"));
  CHECK_THAT(error_of("1f1b,4,8,1,1,1,0,makespam,1,\n"), Contains("did you mean 'makespan'"));
  CHECK_THAT(error_of("\"{name: 1f1b, chunkz: 2}\",4,8,1,1,1,0,makespan,1,\n"), Contains("chunk"));
  CHECK_THAT(error_of("", "metric: relativ\n"), Contains("metric"));
  CHECK_THAT(error_of("", "metric: absolute\nfoo: 1\n"), Contains("foo"));
  CHECK_THAT(error_of("a\n", "metric: absolute\n", "schedule\n"),
             Contains("column ranks is missing"));
}
