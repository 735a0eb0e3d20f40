// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdexcept>
#include <string>

namespace paceline::base {

/// Bad input. `what()` is the one line the user reads:
/// "file:line:column: path: problem; hint". Caught once, in main, which exits with 2.
struct Error : std::runtime_error {
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  Error(const std::string& where, const std::string& problem, const std::string& hint = "")
      : std::runtime_error(where + ": " + problem + (hint.empty() ? "" : "; " + hint)) {}
};

/// Needed hardware or a library is missing; main exits with 3.
struct MissingError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The question is well formed and the answer is "never": main prints it and exits with 1.
struct NoProgress : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// An infeasible point: an ordinary answer of a well-formed question, not an exception.
struct Infeasible {
  std::string why;
};

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace paceline::base

/// A broken invariant of our own: on in every build, prints where and aborts.
#define PACELINE_CHECK(condition)                                                     \
  do {                                                                                \
    if (!(condition)) ::paceline::base::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
