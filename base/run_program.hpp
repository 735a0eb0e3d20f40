// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/child_process.hpp"

namespace paceline::base {

/// Runs the program words[0] (a path) with the other words as arguments until it ends; its standard
/// output and error go to `output_file`, its standard input is empty. It gets the signals the
/// terminal sends this process. base::Error when it cannot be started.
ChildEnd run_program(const std::vector<std::string>& words, const std::string& output_file);

}  // namespace paceline::base
