// SPDX-License-Identifier: Apache-2.0
#include "cli/scenario_options.hpp"

#include <CLI/CLI.hpp>
#include <array>

#include "base/table.hpp"

namespace paceline::cli {

namespace {

struct Engine {
  std::string_view name;
};
constexpr std::array<Engine, 1> kEngines{{{"reference"}}};

}  // namespace

void add_set_option(CLI::App& command, std::vector<std::string>& set) {
  command.add_option("--set", set, "change one value of the scenario; may be repeated")
      ->type_name("PATH=VALUE")
      ->type_size(1)
      ->allow_extra_args(false);
}

void add_engine_option(CLI::App& command, std::string& engine) {
  command.add_option("--engine", engine, "what computes the timeline: reference (the default)")
      ->type_name("NAME");
}

void check_engine(const std::string& engine) { base::find(kEngines, engine, "", "engine"); }

}  // namespace paceline::cli
