// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/message.hpp"
#include "models/scenario/scenario_folders.hpp"
#include "models/scenario/set.hpp"

namespace paceline::models {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> set_folders() {
  std::vector<fs::path> folders = scenario_folders();
  for (fs::path& folder : folders) folder /= "published";
  return folders;
}

}  // namespace

std::vector<fs::path> scenario_folders() {
  std::vector<fs::path> folders;
  if (const char* named = std::getenv("PACELINE_SCENARIOS"); named != nullptr && *named != '\0')
    folders.emplace_back(named);
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  if (!program.empty())
    folders.push_back(program.parent_path().parent_path() / "share/paceline/scenarios");
  folders.emplace_back(PACELINE_SOURCE_SCENARIOS);
  return folders;
}

std::string example_file(const std::string& name) {
  for (const fs::path& folder : scenario_folders())
    if (const fs::path file = folder / name; fs::exists(file)) return file.string();
  throw base::Error(name, "is in none of the folders of scenarios",
                    "PACELINE_SCENARIOS may name such a folder");
}

std::vector<std::string> set_names() {
  std::vector<std::string> names;
  for (const fs::path& folder : set_folders()) {
    std::error_code missing;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, missing))
      if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string set_file(const std::string& name) {
  if (name.find('/') != std::string::npos || fs::path(name).extension() == ".yaml") return name;
  for (const fs::path& folder : set_folders())
    if (const fs::path file = folder / (name + ".yaml"); fs::exists(file)) return file.string();
  throw base::Error("unknown set " + base::quote(name), base::suggest(name, set_names(), "one of"));
}

}  // namespace paceline::models
