// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "models/scenario/scenario.hpp"

namespace paceline::models {

/// The scenario as the user wrote it with every default filled in, as YAML that reads back to the
/// same scenario: what `check` prints.
std::string resolved_text(const base::Document& document, const Scenario& scenario);

/// Hash of the resolved text and of every number of the specs it names (model shape, devices,
/// links, profile and stack constants): two runs with the same hash asked the same question.
std::string scenario_hash(const Scenario& scenario);

std::string_view to_text(Recompute recompute);

}  // namespace paceline::models
