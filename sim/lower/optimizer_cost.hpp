// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/lower/stage_work.hpp"

namespace paceline::sim {

/// Whether the stack reduces gradients bucket by bucket, beside the backward.
bool buckets_gradients(const models::Scenario& scenario);

/// Bytes an optimizer step moves per parameter of its shard.
double step_bytes(const models::Scenario& scenario);

/// Parameters of a rank that its optimizer updates: its shard under ZeRO.
double updated_parameters(const models::Scenario& scenario, const RankParameters& held);

/// The optimizer step of a rank on its device.
double optimizer_seconds(const CostContext& context, const RankParameters& held);

}  // namespace paceline::sim
