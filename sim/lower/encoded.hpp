// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "models/compression/compressed.hpp"
#include "sim/lower/pass_cost.hpp"

/// What `compression` makes of collectives inside layers.
namespace paceline::sim {

/// Whether the scenario encodes anything that layers exchange.
bool encodes_inside(const models::Scenario& scenario);

/// Of a collective of the context's layer; nothing: it travels as it is. An exchange in two steps
/// keeps both, each shorter by what the codec saves.
std::optional<models::CompressedTime> encoded_time(const CostContext& context,
                                                   const models::Op& op);

}  // namespace paceline::sim
