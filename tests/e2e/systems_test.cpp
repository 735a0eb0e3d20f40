// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>
#include <string>

#include "base/config.hpp"
#include "tests/e2e/run_program.hpp"

namespace fs = std::filesystem;
using paceline::base::Document;
using paceline::base::find_path;
using paceline::base::Value;
using paceline::tests::run_program;
using paceline::tests::run_shell;

namespace {

const std::string& text(const Value& map, const std::string& key) {
  const Value* value = find_path(map, key);
  REQUIRE(value != nullptr);
  return value->text;
}

}  // namespace

TEST_CASE("validate systems has a row with a valid status for every system", "[e2e]") {
  const auto ran = run_program("validate systems --json -");
  REQUIRE(ran.exit_code == 0);
  const Document document = paceline::base::parse_json(ran.out, "answer");
  CHECK(text(document.root, "schema") == "paceline-validate-1");
  CHECK(text(document.root, "suites.0.name") == "systems");
  const Value* cases = find_path(document.root, "suites.0.cases");
  REQUIRE(cases != nullptr);
  CHECK(cases->items.size() == 100);
  const std::set<std::string> statuses{"reproduced", "within", "off", "not expressible"};
  for (const Value& one : cases->items) {
    INFO(text(one, "id"));
    CHECK_FALSE(text(one, "claim").empty());
    CHECK_FALSE(text(one, "why").empty());
    CHECK(statuses.count(text(one, "status")) == 1);
    const bool expressed = text(one, "status") != "not expressible";
    CHECK(expressed == (find_path(one, "predicted")->kind != Value::Kind::Null));
    CHECK(expressed == !find_path(one, "runs")->items.empty());
    CHECK(expressed == find_path(one, "missing")->items.empty());
  }
  CHECK(run_program("validate systems --json -").out == ran.out);
}

TEST_CASE("Every scenario of a system runs on its own", "[e2e]") {
  int scenarios = 0;
  for (const auto& entry : fs::recursive_directory_iterator(PACELINE_SOURCE "/scenarios/systems")) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".yaml" || name == "system.yaml" || name == "index.yaml")
      continue;
    INFO(entry.path());
    const bool jobs = name.starts_with("jobs");
    const auto ran = run_program((jobs ? "jobs --plain '" : "run '") + entry.path().string() + "'");
    CHECK((ran.exit_code == 0 || ran.exit_code == 1));
    ++scenarios;
  }
  CHECK(scenarios >= 12);
}

TEST_CASE("validate systems stands alone and names a scenario that fails", "[e2e]") {
  CHECK(run_program("validate systems --rows").exit_code == 2);
  const auto mixed = run_program("validate systems llama-layouts");
  CHECK(mixed.exit_code == 2);
  CHECK(mixed.err.find("systems: stands alone") != std::string::npos);
  const auto ran = run_shell("d=$(mktemp -d) && cp -r '" PACELINE_SOURCE
                             "/scenarios/systems' \"$d\" && sed -i 's/tp: 8/tp: 7/' "
                             "\"$d/systems/megatron-lm-tp/gpt_8b.yaml\""
                             " && PACELINE_SCENARIOS=\"$d\" \"$PACELINE\" validate systems; "
                             "code=$?; rm -r \"$d\"; exit $code");
  CHECK(ran.exit_code == 2);
  CHECK(ran.err.find("systems/megatron-lm-tp/gpt_8b.yaml:5:") != std::string::npos);
}

TEST_CASE("list systems shows a claim, its source and its scenarios", "[e2e]") {
  const auto all = run_program("list systems");
  CHECK(all.exit_code == 0);
  CHECK(paceline::tests::count_lines(all.out) == 100);
  const auto one = run_program("list systems megatron-ptdp");
  CHECK(one.exit_code == 0);
  CHECK(one.out.find("502 petaFLOP/s") != std::string::npos);
  CHECK(one.out.find("systems/megatron-ptdp/gpt_1t.yaml") != std::string::npos);
  CHECK(one.out.find("with {name: GPT 175B on 96 A100 interleaved") != std::string::npos);
  CHECK(run_program("list systems megatron-ptd").exit_code == 2);
}
