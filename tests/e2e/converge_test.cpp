// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/e2e/run_program.hpp"
#include "tests/temporary_folder.hpp"

namespace fs = std::filesystem;
using paceline::tests::count_lines;
using paceline::tests::Ran;
using paceline::tests::run_program;

namespace {

constexpr const char* kTinyStudy = R"(study: tiny
seeds: 2
steps: 20
objective: {kind: quadratic, size: 5}
optimizers: [{kind: sgd, rates: [0.1, 0.5, 100]}]
methods: [synchronous, {kind: delay}]
expect: [{that: synchronous / delay, most: LEAST}]
)";

std::string study_file(const fs::path& folder, const std::string& bound) {
  std::string text = kTinyStudy;
  text.replace(text.find("LEAST"), 5, bound);
  const fs::path file = folder / "tiny.yaml";
  std::ofstream(file) << text;
  return "'" + file.string() + "'";
}

}  // namespace

TEST_CASE("converge writes a table, curves and a picture, and says what did not show", "[e2e]") {
  const scratch::Folder folder;
  const std::string picture = (folder.path() / "c.svg").string();
  const Ran ran = run_program("converge " + study_file(folder.path(), "1.5") + " --picture '" +
                              picture + "' --jobs 2");
  INFO(ran.err);
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find("holds: synchronous / delay") != std::string::npos);
  CHECK(count_lines(ran.out) < 45);
  CHECK(fs::file_size(picture) > 1000);
  const Ran json = run_program("converge " + study_file(folder.path(), "0.000001") + " --json -");
  CHECK(json.exit_code == 1);
  CHECK(json.out.find("\"holds\": false") != std::string::npos);
  CHECK(json.out.find("\"schema\": \"paceline-converge-1\"") != std::string::npos);
  CHECK(json.out.find("\"median\": null") != std::string::npos);  // a rate of 100 diverges
}

TEST_CASE("converge refuses malformed studies with one line and status 2", "[e2e]") {
  const scratch::Folder folder;
  const Ran ran = run_program("converge " + study_file(folder.path(), "x"));
  CHECK(ran.exit_code == 2);
  CHECK(ran.out.empty());
  CHECK(count_lines(ran.err) == 1);
  CHECK(ran.err.find("tiny.yaml:7:") != std::string::npos);
  CHECK(run_program("converge missing.yaml").exit_code == 2);
  const Ran list = run_program("list methods gossip");
  CHECK(list.exit_code == 0);
  CHECK(list.out.find("gossip: workers mix") != std::string::npos);
}
