// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "base/config.hpp"
#include "sim/schedules/schedule.hpp"
#include "tests/e2e/run_program.hpp"
#include "tests/temporary_folder.hpp"

namespace fs = std::filesystem;
using paceline::tests::Ran;
using paceline::tests::run_program;

namespace {

std::string run_with(const std::string& schedule, const std::string& more = "") {
  return "run '" PACELINE_SOURCE
         "/tests/e2e/good/small.yaml' --set batch.global=16 --set schedule='" +
         schedule + "' " + more;
}

std::string field(const std::string& json, const char* path) {
  const auto document = paceline::base::parse_json(json, "answer");
  const paceline::base::Value* value = paceline::base::find_path(document.root, path);
  return value == nullptr ? "" : value->text;
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a schedule from a file takes the time of the same schedule by name", "[e2e]") {
  const Ran named = run_program(run_with("1f1b", "--json -"));
  REQUIRE(named.exit_code == 0);
  const std::string expected = field(named.out, "step_time_s");
  REQUIRE_FALSE(expected.empty());
  // Paths start at the folder of the scenario.
  for (const char* file : {"own.txt", "own.csv"}) {
    INFO(file);
    const Ran own =
        run_program(run_with("{file: ../schedules/" + std::string(file) + "}", "--json -"));
    CHECK(own.err.empty());
    REQUIRE(own.exit_code == 0);
    CHECK(field(own.out, "step_time_s") == expected);
    CHECK(field(own.out, "scenario.schedule.name") == "../schedules/" + std::string(file));
    CHECK(field(own.out, "scenario.hash") != field(named.out, "scenario.hash"));
  }
  const Ran table = run_program(run_with("{file: ../schedules/own.csv}"));
  CHECK(table.out.find(": 16 actions that send") != std::string::npos);
}

TEST_CASE("list schedules explains every schedule", "[e2e]") {
  const Ran all = run_program("list schedules");
  CHECK(all.exit_code == 0);
  for (const paceline::sim::Schedule& schedule : paceline::sim::schedules())
    CHECK(all.out.find(std::string(schedule.name) + ": ") != std::string::npos);
  for (const char* word :
       {"  placement ", "  order ", "  bubble ", "  peak ", "  options ", "  paper "})
    CHECK(all.out.find(word) != std::string::npos);
  const Ran one = run_program("list schedules 1f1b");
  CHECK(one.out.find("rank 0: 0F0 0F1 0BW0") != std::string::npos);
  CHECK(one.out.find("rank 0  |FFFF......BWFBWFBWFBWFBW.BW.BW.BW") != std::string::npos);
  CHECK(one.out.find("idle of the makespan       9 (27.3 %)") != std::string::npos);
  CHECK(one.out.find('\x1b') == std::string::npos);
}

TEST_CASE("list schedules NAME --svg writes a picture", "[e2e]") {
  const scratch::Folder folder;
  const fs::path file = folder.path() / "1f1b.svg";
  CHECK(run_program("list schedules 1f1b --svg '" + file.string() + "'").exit_code == 0);
  CHECK(read(file).find("<svg") == 0);
  CHECK(run_program("list schedules --svg x.svg").exit_code == 2);
  CHECK(run_program("list devices a100-pcie --svg x.svg").exit_code == 2);
  CHECK(run_program("list schedules 1f1b --svg /no/such/folder/x.svg").exit_code == 2);
}

TEST_CASE("validate schedules keeps every bound", "[e2e]") {
  const Ran ran = run_program("validate schedules --json -");
  CHECK(ran.exit_code == 0);
  CHECK(field(ran.out, "passed") == "true");
  CHECK(field(ran.out, "suites.0.cases.0.source").size() > 10);
  const Ran text = run_program("validate schedules");
  CHECK(text.exit_code == 0);
  CHECK(text.out.find("0.2431        0.2431") != std::string::npos);
  CHECK(run_program("validate schedules nccl").exit_code == 2);
  CHECK(run_program("validate schedules --rows").exit_code == 2);
}

TEST_CASE("docs/schedules.md has every schedule and its picture", "[e2e]") {
  const fs::path docs = fs::path(PACELINE_SOURCE) / "docs";
  const std::string page = read(docs / "schedules.md");
  std::set<std::string> pictures;
  for (const paceline::sim::Schedule& schedule : paceline::sim::schedules()) {
    const std::string name(schedule.name);
    INFO(name << ": run tools/update_schedules.sh");
    CHECK(page.find("\n## " + name + "\n") != std::string::npos);
    CHECK(page.find("(schedules/" + name + ".svg)") != std::string::npos);
    const std::string picture = read(docs / "schedules" / (name + ".svg"));
    CHECK(picture.find("<svg") == 0);
    CHECK(picture.size() < 30'000);
    pictures.insert(name + ".svg");
  }
  for (const auto& entry : fs::directory_iterator(docs / "schedules")) {
    INFO(entry.path());
    CHECK(pictures.count(entry.path().filename().string()) == 1);
  }
}
