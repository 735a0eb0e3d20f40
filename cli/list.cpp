// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include "cli/command.hpp"

namespace paceline::cli {

void add_list(CLI::App& program, int& exit_code) {
  CLI::App* list = program.add_subcommand("list", "what Paceline knows: devices, models, ...");
  list->callback([&exit_code] { exit_code = kDone; });
}

}  // namespace paceline::cli
