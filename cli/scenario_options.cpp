// SPDX-License-Identifier: Apache-2.0
#include "cli/scenario_options.hpp"

#include "base/error.hpp"
#include "base/table.hpp"
#include "cli/arguments.hpp"

namespace paceline::cli {

void add_scenario(CLI::App& command, std::string& file) {
  add_option(command, "SCENARIO", file, "the scenario, a YAML or JSON file", {.required = true});
}

void add_set_option(CLI::App& command, std::vector<std::string>& set) {
  add_option(command, "--set", set, "change one value of the scenario; may be repeated",
             {.value = "PATH=VALUE", .one_each = true});
}

void add_engine_options(CLI::App& command, EngineChoice& choice) {
  add_option(command, "--engine", choice.engine,
             "what computes the timeline: reference (the default), or simgrid,\n"
             "which lets messages share links",
             {.value = "NAME"});
  add_option(command, "--fidelity", choice.fidelity,
             "how closely simgrid looks at transfers: fluid (the default), chunk\n"
             "(data-parallel rings message by message), alpha-beta (no link is shared)",
             {.value = "NAME"});
}

sim::PredictOptions find_engine(const EngineChoice& choice) {
  sim::PredictOptions options;
  options.engine = base::find(sim::kEngines, choice.engine, "", "engine").engine;
  options.fidelity = sim::default_fidelity(options.engine);
  if (!choice.fidelity) return options;
  options.fidelity = base::find(sim::kFidelities, *choice.fidelity, "", "fidelity").fidelity;
  if (options.engine == sim::Engine::Reference && options.fidelity != sim::Fidelity::AlphaBeta) {
    throw base::Error("--fidelity " + *choice.fidelity + ": the reference engine shares no links",
                      "add --engine simgrid, or leave alpha-beta");
  }
  return options;
}

std::string engine_words(const EngineChoice& choice) {
  const sim::PredictOptions options = find_engine(choice);
  std::string words = "--engine " + choice.engine;
  if (options.fidelity != sim::default_fidelity(options.engine)) {
    words += " --fidelity " + *choice.fidelity;
  }
  return words;
}

}  // namespace paceline::cli
