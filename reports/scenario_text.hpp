// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "models/parallel/plan.hpp"
#include "models/scenario/scenario.hpp"

namespace paceline::reports {

inline constexpr std::string_view kCheckSchema = "paceline-check-1";

/// A checked scenario as text: what it means as YAML comments, then every value that counts, with
/// defaults written out.
std::string scenario_text(const models::Scenario& scenario, const models::Plan& plan);

/// The same as JSON; `resolved` holds the scenario as a tree.
std::string scenario_json(const models::Scenario& scenario, const models::Plan& plan,
                          std::string_view command);

}  // namespace paceline::reports
