// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

/// Runs the program the way a shell does.
namespace paceline::tests {

struct Ran {
  int exit_code = 0;
  std::string out, err;
};

/// `PACELINE_BINARY ARGUMENTS` through the shell: quoting, pipes and redirections work. Standard
/// input is empty.
Ran run_program(const std::string& arguments);
/// Any shell command; `$PACELINE` is the program.
Ran run_shell(const std::string& command);

/// Number of lines; a last line without an end counts.
int count_lines(const std::string& text);

}  // namespace paceline::tests
