// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/predict.hpp"

/// Work of others in the idle time of a step, `foreign` of the scenario.
namespace paceline::sim {

/// Throws base::Error at the scenario's `foreign` where idle time has no place in an order: with
/// schedules that never flush, without a norm barrier, and with ready dispatch.
void check_foreign(const models::Scenario& scenario);

/// Puts the pieces, dealt evenly over the ranks of the pipeline, where the compute streams of
/// `prediction` idle up to the optimizer, and makes actions X of them in its Program; those that
/// fit nowhere are left out. No action starts later for it, so what has been measured stays true.
/// Throws base::Error when a rank has more pieces to do than the Program can number.
ForeignDone add_foreign(const models::Scenario& scenario, Prediction& prediction);

}  // namespace paceline::sim
