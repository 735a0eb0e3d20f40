// SPDX-License-Identifier: Apache-2.0
#include "base/module.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

namespace paceline::base {
namespace {

std::string loader_says() {
  const char* text = dlerror();
  return text == nullptr ? "unknown" : text;
}

std::vector<std::string> places(const char* file) {
  std::vector<std::string> paths;
  if (const char* folder = std::getenv("PACELINE_MODULES"))
    paths.push_back(std::string(folder) + "/" + file);
  std::error_code ignored;
  const auto executable = std::filesystem::read_symlink("/proc/self/exe", ignored);
  for (const char* below : {"../lib/paceline", "../lib"})
    paths.push_back((executable.parent_path() / below / file).string());
  return paths;
}

}  // namespace

void* open_library(std::span<const char* const> names, std::string& why) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    why = loader_says();
  }
  return nullptr;
}

void* find_symbol(void* library, const char* name, std::string& why) {
  dlerror();
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) why = loader_says();
  return symbol;
}

void* load_module(const char* file, const char* symbol, const char* what, std::string& why) {
  why.clear();
  for (const std::string& path : places(file)) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) continue;
    const char* const name = path.c_str();
    void* library = open_library({&name, 1}, why);
    if (library == nullptr) continue;
    if (void* function = find_symbol(library, symbol, why)) return function;
  }
  if (why.empty()) why = std::string("this build has no ") + what + " module";
  return nullptr;
}

}  // namespace paceline::base
