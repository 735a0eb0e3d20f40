// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "sim/predict.hpp"

namespace CLI {
class App;
}

/// Options that every subcommand working on a scenario shares.
namespace paceline::cli {

inline constexpr const char* kDefaultEngine = "reference";

/// Adds `--set path=value`, which may be repeated.
void add_set_option(CLI::App& command, std::vector<std::string>& set);
/// Adds `--engine NAME`.
void add_engine_option(CLI::App& command, std::string& engine);
/// base::Error with the valid names for an engine that does not exist.
sim::Engine find_engine(const std::string& engine);

}  // namespace paceline::cli
