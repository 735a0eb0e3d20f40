// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/predict.hpp"

namespace paceline::sim {

/// Workers that exchange now and then: the predicted step is their inner step. Fills
/// Result::outer, and the time of the run with all workers.
void add_outer(const models::Scenario& scenario, Prediction& prediction);

}  // namespace paceline::sim
