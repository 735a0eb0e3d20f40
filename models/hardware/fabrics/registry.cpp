// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabrics/fabrics.hpp"

namespace paceline::models {
namespace {

constexpr FabricKind kFabrics[] = {
#define PACELINE_FABRIC(function, name, summary) {name, summary, &fabrics::function},
#include "models/hardware/fabrics/list.def"
#undef PACELINE_FABRIC
};

}  // namespace

std::span<const FabricKind> fabric_kinds() { return kFabrics; }

}  // namespace paceline::models
