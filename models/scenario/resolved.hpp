// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "models/scenario/scenario.hpp"

namespace paceline::models {

/// The scenario with every default written out, as YAML in a fixed order: what `check` prints and
/// what the scenario hash is made of.
std::string resolved_text(const Scenario& scenario);

std::string_view to_text(Recompute recompute);
std::string_view to_text(ContextParallel context);

}  // namespace paceline::models
