// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "base/config.hpp"
#include "tests/e2e/run_program.hpp"

using namespace paceline;
using paceline::tests::Ran;
using paceline::tests::run_program;

namespace {
const std::string kRun = "run " PACELINE_SOURCE
                         "/scenarios/06_llama3_70b_64_h100.yaml --set jitter.compute.sigma=0.1 "
                         "--set jitter.repetitions=20 --set jitter.seed=5";
}

TEST_CASE("run with jitter gives the distribution, the same bytes each time", "[cli][jitter]") {
  const Ran json = run_program(kRun + " --json -");
  REQUIRE(json.exit_code == 0);
  CHECK(run_program(kRun + " --json -").out == json.out);
  const base::Document document = base::parse_json(json.out, "out.json");
  const auto number = [&](const char* path) {
    return std::stod(base::find_path(document.root, path)->text);
  };
  CHECK(base::find_path(document.root, "seed")->text == "5");
  CHECK(number("distribution.repetitions") == 20);
  CHECK(number("distribution.mean.value_s") > number("step_time_s"));
  CHECK(number("distribution.mean.low_s") < number("distribution.mean.value_s"));
  CHECK(number("distribution.p95.value_s") > number("distribution.p50.value_s"));
  CHECK(base::find_path(document.root, "distribution.p99.high_s")->kind == base::Value::Kind::Null);
  const Ran text = run_program(kRun);
  CHECK_THAT(text.out, Catch::Matchers::Contains("20 steps with jitter, seed 5") &&
                           Catch::Matchers::Contains("or more") &&
                           !Catch::Matchers::Contains("nothing random"));
}

TEST_CASE("simgrid refuses jitter in one line", "[cli][jitter]") {
  const Ran refused = run_program(kRun + " --engine simgrid");
  CHECK(refused.exit_code == 2);
  CHECK(tests::count_lines(refused.err) == 1);
  CHECK_THAT(refused.err, Catch::Matchers::Contains("jitter") &&
                              Catch::Matchers::Contains("--engine reference"));
}
