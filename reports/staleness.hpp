// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/config.hpp"
#include "base/json.hpp"
#include "sim/staleness.hpp"

namespace paceline::reports {

/// `max`, `mean`, `mismatch`, `versions` by pipeline rank and `histogram` by delay, as an object.
void write_staleness(base::JsonWriter& json, const sim::Staleness& staleness);
/// What write_staleness wrote; throws base::Error for numbers that contradict each other.
sim::Staleness read_staleness(base::Fields from);

/// "gradients up to 3 updates late, 1.5 on average; forward and backward 2 updates apart at most; 4
/// versions of the weights".
std::string describe(const sim::Staleness& staleness);

}  // namespace paceline::reports
