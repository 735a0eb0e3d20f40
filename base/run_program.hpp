// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/child_process.hpp"

namespace paceline::base {

/// Runs the program words[0] (a path) with the other words as arguments until it and all it started
/// have ended; its standard output and error go to `output_file`, its standard input is empty. A
/// signal that asks this process to end first ends the program, and it never outlives this process.
/// base::Error when it cannot be started.
ChildEnd run_program(const std::vector<std::string>& words, const std::string& output_file);

}  // namespace paceline::base
