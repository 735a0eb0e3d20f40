// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabrics/fabrics.hpp"

namespace paceline::models {
namespace {

constexpr FabricKind kFabrics[] = {
#define PACELINE_FABRIC(function, name, nests, summary) \
  {name, nests, summary, &fabrics::read_##function, &fabrics::build_##function},
#include "models/hardware/fabrics/list.def"
#undef PACELINE_FABRIC
};

}  // namespace

std::span<const FabricKind> fabric_kinds() { return kFabrics; }

const FabricKind& fabric_kind(std::string_view name) {
  for (const FabricKind& kind : kFabrics)
    if (kind.name == name) return kind;
  PACELINE_CHECK(false);
  return kFabrics[0];
}

}  // namespace paceline::models
