// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "base/config.hpp"

namespace {

struct Answer {
  int exit_code = -1;
  std::string text;  ///< standard output and standard error
};

Answer validate(const std::string& arguments) {
  const std::string command = std::string(PACELINE_BINARY) + " validate " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Answer answer;
  std::array<char, 4096> buffer{};
  std::size_t n = 0;
  while ((n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0)
    answer.text.append(buffer.data(), n);
  const int status = pclose(pipe);
  answer.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return answer;
}

}  // namespace

TEST_CASE("validate prints a table and its rows", "[e2e]") {
  const Answer answer = validate("korthikanti-fig7-activation --rows");
  CHECK(answer.exit_code == 0);
  CHECK(answer.text.find("korthikanti-fig7-activation.activation_percent") != std::string::npos);
  CHECK(answer.text.find("22B seq_parallel") != std::string::npos);
}

TEST_CASE("validate --json gives one document, the same every time", "[e2e]") {
  const Answer first = validate("korthikanti-fig1-memory --json -");
  CHECK(first.exit_code == 0);
  const auto document = paceline::base::parse_json(first.text, "answer");
  REQUIRE(paceline::base::find_path(document.root, "suites.1.name") != nullptr);
  CHECK(paceline::base::find_path(document.root, "suites.1.name")->text ==
        "korthikanti-fig1-memory.activations_GiB");
  CHECK(validate("korthikanti-fig1-memory --json -").text == first.text);
}

TEST_CASE("validate tells bad input from an exceeded bound", "[e2e]") {
  const Answer unknown = validate("megatron-sc21-table2");
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.text.find("did you mean 'megatron-sc21-table1'?") != std::string::npos);
  CHECK(validate("/nowhere/set.yaml").exit_code == 2);
  CHECK(validate("--json").exit_code == 2);
}

TEST_CASE("validate nccl prints and writes the collective models' bounds", "[e2e]") {
  const Answer text = validate("nccl");
  CHECK(text.exit_code == 0);
  CHECK(text.text.find("bound: white box") != std::string::npos);
  CHECK(text.text.find("EXCEEDED") == std::string::npos);
  const Answer json = validate("nccl --json -");
  CHECK(json.exit_code == 0);
  const auto document = paceline::base::parse_json(json.text, "answer");
  REQUIRE(paceline::base::find_path(document.root, "command") != nullptr);
  CHECK(paceline::base::find_path(document.root, "command")->text == "paceline validate nccl");
  CHECK(validate("nccl --rows").exit_code == 2);
}
