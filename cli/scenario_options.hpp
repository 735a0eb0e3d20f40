// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "sim/predict.hpp"

namespace CLI {
class App;
}

/// Options that every subcommand working on a scenario shares.
namespace paceline::cli {

inline constexpr const char* kDefaultEngine = "reference";

/// Adds the scenario, the first argument.
void add_scenario(CLI::App& command, std::string& file);
/// Adds `--set path=value`, which may be repeated.
void add_set_option(CLI::App& command, std::vector<std::string>& set);
/// What computes the timeline, as given.
struct EngineChoice {
  std::string engine = kDefaultEngine;
  std::optional<std::string> fidelity;
};
/// Adds `--engine NAME` and `--fidelity NAME`.
void add_engine_options(CLI::App& command, EngineChoice& choice);
/// base::Error with the valid names for what does not exist, or not in this engine.
sim::PredictOptions find_engine(const EngineChoice& choice);
/// "--engine simgrid --fidelity chunk"; the second only where it is not what the engine does
/// anyway.
std::string engine_words(const EngineChoice& choice);

}  // namespace paceline::cli
