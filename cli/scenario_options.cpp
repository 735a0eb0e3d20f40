// SPDX-License-Identifier: Apache-2.0
#include "cli/scenario_options.hpp"

#include <CLI/CLI.hpp>

#include "base/table.hpp"

namespace paceline::cli {

void add_set_option(CLI::App& command, std::vector<std::string>& set) {
  command.add_option("--set", set, "change one value of the scenario; may be repeated")
      ->type_name("PATH=VALUE")
      ->type_size(1)
      ->allow_extra_args(false);
}

void add_engine_option(CLI::App& command, std::string& engine) {
  command
      .add_option("--engine", engine,
                  "what computes the timeline: reference (the default), or simgrid,\n"
                  "which lets messages share links")
      ->type_name("NAME");
}

sim::Engine find_engine(const std::string& engine) {
  return base::find(sim::kEngines, engine, "", "engine").engine;
}

}  // namespace paceline::cli
