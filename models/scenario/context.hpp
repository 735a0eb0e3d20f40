// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/config.hpp"
#include "models/scenario/scenario.hpp"

namespace paceline::models {

/// `context: ring`, or `context: {method: usp, order: zigzag, inner: 8, chunks: 4}`, of the map
/// `parallel`. What the method does not take is an Error; `inner` stays 0 where it is not said.
ContextChoice read_context(base::Fields& parallel, int cp);

/// `inner` where it was not said: most neighbours inside one domain of device links, as far as cp
/// and the heads divide.
void place_context(Scenario& scenario);

}  // namespace paceline::models
