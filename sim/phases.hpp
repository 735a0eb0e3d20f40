// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/predict.hpp"

/// Runs whose codecs change on the way: every phase is a scenario of its own.
namespace paceline::sim {

bool has_phases(const models::Scenario& scenario);

/// Of the longest phase (the earlier one where equal), with Result::phases, and time, device time
/// and cost of the whole run. The run has the steps that its tokens fill, rounded up.
Prediction predict_phases(const models::Scenario& scenario, const PredictOptions& options);

}  // namespace paceline::sim
