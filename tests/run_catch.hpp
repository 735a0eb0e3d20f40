// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace paceline::tests {

/// Runs the tests that these words choose, as on Catch2's command line after the program's name,
/// and of them those with `tag` where there is one; as the first words "--part 2/3": every third
/// test, from the second on. 0 when all passed.
int run_catch(std::vector<const char*> words, const std::string& tag = "");

}  // namespace paceline::tests
