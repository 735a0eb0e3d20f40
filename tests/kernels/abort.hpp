// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <sstream>
#include <string>

namespace paceline::kernels {

/// What a child process that runs `run` wrote before it aborted, without a sanitizer's remarks,
/// which begin with "=="; empty if it did not abort.
template <class F>
std::string message_of_abort(const F& run) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);  // not the test framework's
    dup2(ends[1], STDERR_FILENO);
    run();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[256];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) return "";
  std::istringstream lines(text);
  std::string said;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("==")) said += line + "\n";
  return said;
}

}  // namespace paceline::kernels
