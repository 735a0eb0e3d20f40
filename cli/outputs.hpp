// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <set>
#include <string>

#include "reports/output.hpp"

namespace paceline::cli {

/// One spelling per file; "-" is itself.
std::string same_file_name(const std::string& path);

/// Outputs of one command, opened before the work starts: a path that cannot be written fails at
/// once, and so does one that is the scenario or another output.
class Outputs {
 public:
  explicit Outputs(const std::string& scenario) : scenario_(same_file_name(scenario)) {}
  /// Nothing for an empty path.
  std::optional<reports::OutputFile> open(const std::string& path);

 private:
  std::string scenario_;
  std::set<std::string> seen_;
};

}  // namespace paceline::cli
