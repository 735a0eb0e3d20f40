// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/hardware/fabric_builder.hpp"
#include "models/hardware/fabric_reader.hpp"

/// The networks of list.def: each reads its keys and joins the ports of the nodes built.
namespace paceline::models::fabrics {

#define PACELINE_FABRIC(function, name, nests, summary)    \
  void read_##function(FabricInput& in, FabricSpec& spec); \
  int build_##function(FabricBuilder& builder, const FabricSpec& spec, const FabricPart& part);
#include "models/hardware/fabrics/list.def"
#undef PACELINE_FABRIC

}  // namespace paceline::models::fabrics
