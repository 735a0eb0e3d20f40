// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <vector>

namespace paceline::models {

/// Where scenarios that come with Paceline live, first hit wins: the folder PACELINE_SCENARIOS
/// names, beside an installed binary (bin/ and share/ have one parent), the source tree.
std::vector<std::filesystem::path> scenario_folders();

}  // namespace paceline::models
