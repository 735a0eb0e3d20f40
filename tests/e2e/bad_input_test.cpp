// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/e2e/run_copy.hpp"

namespace fs = std::filesystem;
using paceline::tests::count_lines;
using paceline::tests::Ran;
using paceline::tests::run_copy;
using paceline::tests::run_program;
using paceline::tests::run_shell;

namespace {

const fs::path kFolder = fs::path(PACELINE_SOURCE) / "tests" / "e2e";

/// Every file of tests/e2e/bad; its first line names what the message must contain.
std::vector<fs::path> corpus() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kFolder / "bad")) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string expected_of(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  const std::string mark = "# expect: ";
  return line.starts_with(mark) ? line.substr(mark.size()) : "";
}

void check_refused(const Ran& ran, const std::string& expected) {
  INFO("standard error: " << ran.err);
  CHECK(ran.exit_code == 2);
  CHECK(ran.out.empty());
  CHECK(count_lines(ran.err) == 1);
  CHECK(ran.err.find(expected) != std::string::npos);
  for (const char c : ran.err) CHECK((static_cast<unsigned char>(c) >= 32 || c == '\n'));
}

}  // namespace

TEST_CASE("every malformed scenario ends with exit code 2 and one line that names the fault",
          "[e2e]") {
  const auto files = corpus();
  REQUIRE(files.size() >= 50);
  for (const fs::path& file : files) {
    INFO(file.filename().string());
    const std::string expected = expected_of(file);
    REQUIRE_FALSE(expected.empty());
    const Ran run = run_copy({"run", file.string()});
    check_refused(run, expected);
    const Ran check = run_copy({"check", file.string()});  // the same line
    CHECK(check.exit_code == 2);
    CHECK(check.err == run.err);
  }
}

TEST_CASE("what is no scenario file at all is refused", "[e2e]") {
  check_refused(run_program("run /no/such/file.yaml"), "no such file");
  check_refused(run_program("run '" + kFolder.string() + "'"), "folder");
  check_refused(run_program("run /dev/null"), "not a regular file");
  check_refused(run_program("run ''"), "no such file");
  const std::string make = "f=$(mktemp --suffix=.yaml); trap 'rm -f \"$f\"' EXIT; ";
  check_refused(run_shell(make + ": >\"$f\"; \"$PACELINE\" run \"$f\""), ".yaml");
  check_refused(run_shell(make + "head -c 3000 \"$PACELINE\" >\"$f\"; \"$PACELINE\" run \"$f\""),
                ".yaml");
  check_refused(run_shell(make + "printf 'name: \\377\\376\\n' >\"$f\"; \"$PACELINE\" run \"$f\""),
                ".yaml");
}

TEST_CASE("bad options are refused before anything is predicted", "[e2e]") {
  const std::string small = "'" + (kFolder / "good" / "small.yaml").string() + "'";
  const auto refused = [&](const std::string& options, const std::string& expected) {
    INFO(options);
    check_refused(run_program("run " + small + " " + options), expected);
  };
  refused("--engine simgird", "reference");
  refused("--engine ''", "reference");
  refused("--engine simgrid --fidelity chunks", "did you mean");
  refused("--engine simgrid --fidelity ''", "alpha-beta");
  refused("--fidelity chunk", "--engine simgrid");
  refused("--engine reference --fidelity fluid", "--engine simgrid");
  refused("--set parallel.tp", "path=value");
  refused("--set =4", "path=value");
  refused("--set parallel.tpp=4", "did you mean");
  refused("--set parallel.tp=[", "--set parallel.tp");
  refused("--set parallel.tp.x=4", "parallel.tp");
  refused("--json /no/such/folder/x.json", "/no/such/folder/x.json");
  refused("--json /", "folder");
  refused("--trace /no/such/folder/x.json", "/no/such/folder/x.json");
  refused("--picture /no/such/folder/x.svg", "/no/such/folder/x.svg");
  refused("--json - --trace -", "two outputs");
  refused("--jsn x", "--json");
  refused("more", "unexpected argument 'more'");
}
