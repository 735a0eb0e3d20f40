// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "base/config.hpp"
#include "tests/e2e/run_program.hpp"

namespace base = paceline::base;
using paceline::tests::Ran;
using paceline::tests::run_program;

namespace {

const std::string kTests = PACELINE_SOURCE "/tests/e2e";

/// Two replicas of a node each, 8 devices.
Ran run_failing(const std::string& failures, const std::string& more = "") {
  return run_program("run '" + kTests +
                     "/good/small.yaml' --set cluster.nodes=2 --set parallel.dp=2"
                     " --set parallel.order=tp-cp-ep-pp-dp --set run.tokens=1e12 --set "
                     "'failures={restart: 5 min, detect: 1 min, "
                     "checkpoints: {mode: memory}, " +
                     failures + "}' " + more);
}

double failure_number(const Ran& ran, const std::string& path) {
  INFO(ran.err);
  REQUIRE(ran.exit_code == 0);
  const base::Document document = base::parse_json(ran.out, "out");
  const base::Value* value = base::find_path(document.root, "failures." + path);
  REQUIRE(value != nullptr);
  return std::strtod(value->text.c_str(), nullptr);
}

}  // namespace

TEST_CASE("a run with failures says goodput, causes and one run", "[e2e]") {
  const std::string failures = "node_mtbf: 500 h, link_mtbf: 900 h, link_flap: 30 s";
  const Ran ran = run_failing(failures);
  INFO(ran.out << ran.err);
  CHECK(ran.exit_code == 0);
  for (const char* part :
       {"goodput", "95 % confidence", "lost to", "node", "link", "one run", "seed 1"})
    CHECK(ran.out.find(part) != std::string::npos);
  CHECK(run_failing(failures).out == ran.out);
  const Ran picture = run_failing(failures, "--picture -");
  CHECK(picture.out.find("one sampled run") != std::string::npos);
  const Ran json = run_failing(failures, "--json -");
  CHECK(failure_number(json, "sample.run_s") > 0);
  CHECK(failure_number(json, "goodput_low") < failure_number(json, "goodput"));
}

TEST_CASE("a trace says what happens when", "[e2e]") {
  const std::string trace =
      "trace: '" + kTests + "/failures/good.csv', slow_factor: 2, slow_for: 1 h";
  const Ran waits = run_failing(trace, "--json -");
  // 10 minutes of a node, the job once, 5 minutes at half of the pace or more.
  CHECK(failure_number(waits, "causes.0.count") == 1);
  CHECK(failure_number(waits, "time_share.waiting") > 0);
  CHECK(failure_number(waits, "time_share.slow") > 0);
  const Ran goes_on = run_failing(trace + ", repair: 1 h, recovery: elastic", "--json -");
  CHECK(failure_number(goes_on, "one_node_lost.pace") < 1);
  CHECK(failure_number(goes_on, "run_s") < failure_number(waits, "run_s"));
}

TEST_CASE("spot nodes are not paid for while they are away", "[e2e]") {
  const std::string prices = "--set 'prices={device_hour: 2 USD/h}' --json -";
  const std::string spot = "spot: {mtbf: 8 h, back: 20 min, notice: 2 min}, recovery: ";
  const Ran goes_on = run_failing(spot + "elastic", prices);
  const Ran waits = run_failing(spot + "restart", prices);
  CHECK(failure_number(goes_on, "run_s") < failure_number(waits, "run_s"));
  const double rent = 16 * 2 / 3600.0 * failure_number(waits, "run_s");
  CHECK(failure_number(waits, "run_usd") < rent);
}

TEST_CASE("a trace counts over the run, not until its last row", "[e2e]") {
  const Ran once = run_failing("trace: '" + kTests + "/failures/once.csv'", "--json -");
  CHECK(failure_number(once, "causes.0.count") == 1);
  const double work = failure_number(once, "run_s") * failure_number(once, "goodput");
  CHECK(failure_number(once, "mtbf_s") == Approx(work));
}

TEST_CASE("a run of some hours a day with failures is told by the calendar", "[e2e]") {
  const std::string hours =
      "--set 'prices={device_hour: 2 USD/h}' --set 'run.hours=[22, 6]' --set failures.detect='0 s'";
  const Ran eight = run_failing("node_mtbf: 500 h", hours);
  INFO(eight.out << eight.err);
  CHECK(eight.exit_code == 0);
  CHECK(eight.out.find("if nothing") > eight.out.find("Failures"));
  CHECK(eight.out.find("if nothing") != std::string::npos);
  CHECK(run_failing("node_mtbf: 500 h").out.find("if nothing") == std::string::npos);
}

TEST_CASE("what fails too often is named with its place", "[e2e]") {
  const Ran ran = run_failing("node_mtbf: 500 h", "--set failures.node_mtbf='1 s'");
  CHECK(ran.exit_code == 2);
  CHECK(ran.err.find("failures.node_mtbf: the job does not get on: after") != std::string::npos);
  const Ran far = run_failing("node_mtbf: 500 h", "--set run.tokens=1e18");
  CHECK(far.exit_code == 2);
  CHECK(far.err.find("failures.node_mtbf: more than 1000000 failures in one run") !=
        std::string::npos);
}
