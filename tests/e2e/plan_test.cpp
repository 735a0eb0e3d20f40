// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

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
