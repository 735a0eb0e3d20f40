// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "tests/e2e/run_program.hpp"

namespace paceline::tests {

/// The program with these arguments, in a copy of this process: for tests that run it hundreds of
/// times, because under sanitizers a program takes longer to start than most of them to end.
Ran run_copy(std::vector<std::string> arguments);

}  // namespace paceline::tests
