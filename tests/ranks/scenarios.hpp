// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace paceline::tests {

/// Why no ranks can be started here; "" when they can.
std::string ranks_problem();

/// What a rank does, by name and arguments; its exit status.
int run_scenario(const std::vector<std::string>& words);

}  // namespace paceline::tests
