// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace paceline::models {

/// Where scenarios that come with Paceline live, first hit wins: the folder PACELINE_SCENARIOS
/// names, beside an installed binary (bin/ and share/ have one parent), the source tree.
std::vector<std::filesystem::path> scenario_folders();

/// A file of theirs by name ("here/base.yaml"), from the first that has it; base::Error when none
/// does.
std::string example_file(const std::string& name);

}  // namespace paceline::models
