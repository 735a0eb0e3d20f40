// SPDX-License-Identifier: Apache-2.0
#include "cli/outputs.hpp"

#include <filesystem>
#include <system_error>

#include "base/error.hpp"

namespace paceline::cli {

std::string same_file_name(const std::string& path) {
  if (path.empty()) return path;
  std::error_code ignored;
  const std::filesystem::path whole =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path), ignored);
  return path == "-" || ignored || whole.empty() ? path : whole.string();
}

std::optional<reports::OutputFile> Outputs::open(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const std::string name = same_file_name(path);
  if (name == scenario_) {
    throw base::Error("'" + path + "' is the scenario itself", "write the output to another file");
  }
  if (!name.starts_with("/dev/") && !seen_.insert(name).second) {
    throw base::Error("two outputs go to '" + path + "'", "give each its own file");
  }
  return std::optional<reports::OutputFile>(std::in_place, path);
}

}  // namespace paceline::cli
