// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/message.hpp"
#include "models/hardware/device.hpp"

namespace paceline::models {
namespace {

namespace fs = std::filesystem;
constexpr std::array<const char*, 2> kExtensions{".yaml", ".json"};

/// Plain names only: a spec name never leaves its folder.
bool plain_name(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= 100 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), allowed);
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

void append_environment(std::vector<std::string>& folders) {
  const char* text = std::getenv("PACELINE_SPECS");
  std::string rest = text ? text : "";
  while (!rest.empty()) {
    const auto colon = rest.find(':');
    const std::string folder = rest.substr(0, colon);
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
    if (folder.empty()) continue;
    if (!is_folder(folder))
      throw base::Error("PACELINE_SPECS", "'" + folder + "' is no folder",
                        "name folders that hold device/, link/, cluster/ …, separated by colons");
    folders.push_back(folder);
  }
}

}  // namespace

std::vector<std::string> spec_folders() {
  std::vector<std::string> folders;
  append_environment(folders);
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    const fs::path installed = program.parent_path().parent_path() / "share/paceline/specs";
    if (is_folder(installed)) folders.push_back(installed.string());
  }
#ifdef PACELINE_SOURCE_SPECS
  if (is_folder(PACELINE_SOURCE_SPECS)) folders.push_back(PACELINE_SOURCE_SPECS);
#endif
  return folders;
}

std::vector<std::string> spec_names(std::string_view kind) {
  std::set<std::string> names;
  for (const std::string& folder : spec_folders()) {
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator(fs::path(folder) / kind, failed)) {
      const std::string extension = entry.path().extension().string();
      const std::string name = entry.path().stem().string();
      const bool known =
          std::find(kExtensions.begin(), kExtensions.end(), extension) != kExtensions.end();
      if (known && plain_name(name) && is_file(entry.path())) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

bool names_file(std::string_view name) {
  return name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".json");
}

std::string path_beside(const std::string& document, const std::string& path) {
  return (fs::path(document).parent_path() / path).lexically_normal().string();
}

std::string spec_path(std::string_view kind, const std::string& name, const std::string& where) {
  const std::string place = where.empty() ? std::string(kind) : where;
  if (!plain_name(name))
    throw base::Error(place, base::quote(name) + " is no name of a " + std::string(kind),
                      "names have letters, digits, '-', '_' and '.' only");
  for (const std::string& folder : spec_folders())
    for (const char* extension : kExtensions) {
      const fs::path path = fs::path(folder) / kind / (name + extension);
      if (is_file(path)) return path.string();
    }
  const auto names = spec_names(kind);
  const std::string close = base::nearest(name, names);
  std::string hint =
      "did you mean '" + close + "'? `paceline list " + std::string(kind) + "s` shows all";
  if (close.empty()) {
    hint = names.empty() ? "no " + std::string(kind) + " specs were found" : "known:";
    for (std::size_t i = 0; i < names.size(); ++i) hint += (i ? ", " : " ") + names[i];
  }
  throw base::Error(place, "unknown " + std::string(kind) + " " + base::quote(name), hint);
}

}  // namespace paceline::models
