// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

/// Shared libraries that are loaded when something asks for them, so that the program starts
/// without them.
namespace paceline::base {

/// The first of `names` that the loader takes, with symbols of its own; null, and in `why` the
/// loader's words about the last one it tried. Never unloaded.
void* open_library(std::span<const char* const> names, std::string& why);

/// A function of a loaded library; null, and `why`, when it exports none of that name.
void* find_symbol(void* library, const char* name, std::string& why);

/// A module of ours: "libpaceline_x.so" in the folder PACELINE_MODULES, beside the program
/// (../lib/paceline, ../lib). The function it exports as `symbol`; null, and `why`: it is in none
/// of these places ("this build has no `what` module") or cannot be loaded.
void* load_module(const char* file, const char* symbol, const char* what, std::string& why);

}  // namespace paceline::base
