// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "base/config.hpp"
#include "sim/engine/simgrid.hpp"
#include "tests/e2e/run_program.hpp"

using namespace paceline;
using paceline::tests::Ran;
using paceline::tests::run_program;
using paceline::tests::run_shell;

namespace {
const std::string kLlama = PACELINE_SOURCE "/scenarios/06_llama3_70b_64_h100.yaml";
}

TEST_CASE("run with simgrid names the links that were shared", "[cli][network]") {
  std::string missing;
  if (!sim::simgrid_available(&missing)) {
    WARN("skipped, no SimGrid: " << missing);
    return;
  }
  const Ran text = run_program("run " + kLlama + " --engine simgrid");
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out,
             Catch::Matchers::Contains("Network ") && Catch::Matchers::Contains("sharing adds") &&
                 Catch::Matchers::Contains("nic") && Catch::Matchers::Contains("--engine simgrid"));
  const Ran json = run_program("run " + kLlama + " --engine simgrid --json -");
  const base::Document document = base::parse_json(json.out, "out.json");
  CHECK(base::find_path(document.root, "engine")->text == "simgrid");
  const double slow = std::stod(base::find_path(document.root, "step_time_s")->text);
  const double alone = std::stod(base::find_path(document.root, "network.alone_time_s")->text);
  CHECK(slow > alone);
  CHECK(run_program("run " + kLlama + " --engine simgrid --json -").out == json.out);
}

TEST_CASE("without the SimGrid module the engine is missing, and only it", "[cli][network]") {
  const std::string alone = "cp \"$PACELINE\" \"$d/paceline\" && \"$d/paceline\" run " + kLlama;
  const std::string make = "d=$(mktemp -d) && trap 'rm -rf \"$d\"' EXIT && ";
  const Ran ran = run_shell(make + alone + " --engine simgrid");
  CHECK(ran.exit_code == 3);
  CHECK(tests::count_lines(ran.err) == 1);
  CHECK_THAT(ran.err, Catch::Matchers::Contains("libsimgrid-dev"));
  CHECK(run_shell(make + alone).exit_code == 0);
}

TEST_CASE("a crash of the engine is an error in one line, not a crash", "[cli][network]") {
  const Ran ran = run_shell("PACELINE_MODULES='" PACELINE_CRASHING_MODULES "' \"$PACELINE\" run " +
                            kLlama + " --engine simgrid");
  CHECK(ran.exit_code == 2);
  CHECK(tests::count_lines(ran.err) == 1);
  CHECK_THAT(ran.err, Catch::Matchers::Contains("the engine ended by signal"));
}

TEST_CASE("a crash of the engine costs one row of many", "[cli][network]") {
  const Ran ran =
      run_shell("PACELINE_MODULES='" PACELINE_CRASHING_MODULES "' \"$PACELINE\" validate systems");
  CHECK(ran.exit_code == 0);
  CHECK_THAT(ran.out, Catch::Matchers::Contains("the engine ended by signal") &&
                          Catch::Matchers::Contains("megatron-ptdp") &&
                          Catch::Matchers::Contains("100 systems:"));
}

TEST_CASE("an engine that does not exist is an error with the ones that do", "[cli][network]") {
  const Ran ran = run_program("run " + kLlama + " --engine simgird");
  CHECK(ran.exit_code == 2);
  CHECK_THAT(ran.err, Catch::Matchers::Contains("did you mean 'simgrid'"));
}
