// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/scenario/scenario.hpp"

namespace paceline::models {

/// Reads `collectives: {logs: [...], algorithm: [...], protocol: [...], choice: nccl}` of a
/// scenario whose cluster, stack and profiles are read (null: it has none); `folder` is where
/// relative log files lie. What the first profile measured follows. What the logs are taken for is
/// added to the assumptions.
void read_collectives(base::Fields* fields, const std::string& folder, Scenario& scenario);

}  // namespace paceline::models
