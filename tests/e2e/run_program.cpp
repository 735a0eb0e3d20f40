// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/run_program.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace paceline::tests {
namespace {

std::string slurp_and_remove(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  std::filesystem::remove(path);
  return text;
}

}  // namespace

Ran run_shell(const std::string& command) {
  static int counter = 0;
  const std::filesystem::path stem =
      std::filesystem::temp_directory_path() /
      ("paceline-e2e-" + std::to_string(::getpid()) + "-" + std::to_string(counter++));
  const std::string out = stem.string() + ".out";
  const std::string err = stem.string() + ".err";
  const std::string line = "export PACELINE='" PACELINE_BINARY "'; { " + command + "\n} >'" + out +
                           "' 2>'" + err + "' </dev/null";
  const int status = std::system(line.c_str());
  if (status == -1) throw std::runtime_error("no shell");
  Ran ran;
  ran.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  ran.out = slurp_and_remove(out);
  ran.err = slurp_and_remove(err);
  return ran;
}

Ran run_program(const std::string& arguments) { return run_shell("\"$PACELINE\" " + arguments); }

int count_lines(const std::string& text) {
  const auto ends = static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  return ends + (!text.empty() && text.back() != '\n' ? 1 : 0);
}

}  // namespace paceline::tests
