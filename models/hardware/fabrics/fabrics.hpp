// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/hardware/fabric_builder.hpp"
#include "models/hardware/fabric_spec.hpp"

/// The networks of list.def: each joins the ports of the nodes built.
namespace paceline::models::fabrics {

#define PACELINE_FABRIC(function, name, summary) \
  void function(FabricBuilder& builder, const FabricSpec& spec);
#include "models/hardware/fabrics/list.def"
#undef PACELINE_FABRIC

}  // namespace paceline::models::fabrics
