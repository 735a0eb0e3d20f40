// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "base/config.hpp"
#include "tests/e2e/run_program.hpp"

using namespace paceline;
using Catch::Matchers::Contains;
using paceline::tests::count_lines;
using paceline::tests::Ran;
using paceline::tests::run_program;
using paceline::tests::run_shell;

namespace {

const std::string kPlan8b = "'" PACELINE_SOURCE "/scenarios/02_llama3_8b_8_h100.yaml'";

std::string value_at(const std::string& json, const char* path) {
  const base::Document document = base::parse_json(json, "answer.json");
  const base::Value* value = base::find_path(document.root, path);
  return value == nullptr ? "" : value->text;
}

}  // namespace

TEST_CASE("plan: the best layout runs as printed, and nothing tried beats it", "[cli][plan]") {
  const Ran plan = run_program("plan " + kPlan8b + " --json - --vary micro=1,2");
  REQUIRE(plan.exit_code == 0);
  CHECK(value_at(plan.out, "proven") == "true");
  std::string command = value_at(plan.out, "best.0.command");
  REQUIRE(command.starts_with("paceline run "));
  const Ran run = run_shell("\"$PACELINE\"" + command.substr(8) + " --json -");
  REQUIRE(run.exit_code == 0);
  CHECK(value_at(run.out, "step_time_s") == value_at(plan.out, "best.0.step_time_s"));
  const Ran as_written = run_program("run " + kPlan8b + " --json -");
  CHECK(std::stod(value_at(plan.out, "best.0.step_time_s")) <=
        std::stod(value_at(as_written.out, "step_time_s")));
}

TEST_CASE("plan: says on one screen what binds; 1 where nothing fits", "[cli][plan]") {
  const Ran plan = run_program("plan " + kPlan8b + " --vary micro=1,2 --memory 60GiB");
  CHECK(plan.exit_code == 0);
  CHECK(plan.err.empty());
  CHECK(count_lines(plan.out) <= 50);
  CHECK_THAT(plan.out, Contains("proven: no layout of the space is better") &&
                           Contains("memory, 60.0 GiB a device") && Contains("run it ") &&
                           Contains("--memory 60GiB"));
  const Ran none = run_program("plan " + kPlan8b + " --vary micro=1 --memory 1GiB");
  CHECK(none.exit_code == 1);
  CHECK_THAT(none.out, Contains("no layout fits"));
  const Ran late = run_program("plan " + kPlan8b +
                               " --vary micro=1 --vary zero=1 --set run.tokens=1e13 --deadline 1d");
  CHECK(late.exit_code == 1);
  CHECK_THAT(late.out, Contains("the limit on the run binds"));
}

TEST_CASE("plan: the report is written beside the answer", "[cli][plan]") {
  const std::string arguments = "plan " + kPlan8b + " --vary micro=1 --vary zero=1,2 --jobs 1";
  const Ran bare = run_program(arguments);
  const Ran ran = run_shell("d=$(mktemp -d) && \"$PACELINE\" " + arguments +
                            " --report $d/p.html; code=$?; head -c 60000000 $d/p.html >&2; "
                            "rm -r $d; exit $code");
  if (ran.exit_code == 3) return;  // no chart library here
  REQUIRE(ran.exit_code == 0);
  CHECK(ran.out == bare.out);
  CHECK_THAT(ran.err,
             Contains("\"kind\":\"plan\"") && Contains("\"tried\":[{") && Contains("\"spans\":"));
  // What nothing fits has no step to draw.
  const Ran none = run_program("plan " + kPlan8b + " --vary micro=1 --memory 1GiB --report -");
  CHECK(none.exit_code == 1);
  CHECK_THAT(none.out, Contains("\"runs\":[]") && Contains("no layout fits"));
}

namespace {

/// Starts a long search, waits until it has opened its output beside `out`, and does `then` to
/// $pid.
Ran interrupted_plan(const std::string& then) {
  // Shells start what runs beside them deaf to INT, hence env.
  return run_shell(
      "d=$(mktemp -d) && cd $d || exit 9\n"
      "env --default-signal \"$PACELINE\" plan "
      "'" PACELINE_SOURCE
      "/scenarios/07_gpt3_175b_64_a100.yaml' --space full --jobs 1 --json r.json "
      ">out & pid=$!\n"
      "for i in $(seq 1000); do [ $(ls -A | wc -l) -gt 1 ] && break; sleep 0.02; done\n"
      "sleep 0.5; " +
      then +
      "; wait $pid; code=$?\n"
      "cat out; echo; ls -A; cat r.json >&2; rm -r $d; exit $code");
}

}  // namespace

TEST_CASE("plan: an interrupt ends the search with what it has", "[cli][plan]") {
  for (const auto& [signal, status] : {std::pair{"INT", 130}, {"TERM", 143}}) {
    const Ran ran = interrupted_plan(std::string("kill -s ") + signal + " $pid");
    INFO(ran.out << ran.err);
    CHECK(ran.exit_code == status);
    CHECK_THAT(ran.out, Contains("interrupted") && Contains("\nr.json\n"));
    CHECK(value_at(ran.err, "interrupted") == "true");
    CHECK(value_at(ran.err, "proven") == "false");
    CHECK(std::stod(value_at(ran.err, "counts.left")) > 0);
  }
}

TEST_CASE("plan: a second interrupt ends it at once and leaves no file", "[cli][plan]") {
  // Both wait until it goes on: which one comes first does not depend on the machine.
  const Ran ran =
      interrupted_plan("kill -s STOP $pid; kill -s INT $pid; kill -s TERM $pid; kill -s CONT $pid");
  CHECK(ran.exit_code == 143);
  CHECK(ran.out == "\nout\n");
}

TEST_CASE("plan: wrong options are one line", "[cli][plan]") {
  const auto refused = [](const std::string& arguments, const std::string& says) {
    const Ran ran = run_program("plan " + kPlan8b + " " + arguments);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(count_lines(ran.err) == 1);
    CHECK_THAT(ran.err, Contains(says));
  };
  refused("--vary pp=0", "1 to");
  refused("--vary speed=1", "one of devices, tp");
  refused("--objective joy", "none of time, cost, energy");
  refused("--objective cost", "the cost needs prices");
  refused("--budget 1000", "run.tokens");
  refused("--deadline soon", "--deadline");
  refused("--memory -3GiB", "--memory");
  refused("--space huge", "neither default nor full");
  refused("--vary tp=3", "no layout of the space divides");
}
