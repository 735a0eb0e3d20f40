// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabrics/fabrics.hpp"

namespace paceline::models::fabrics {

void switch_fabric(FabricBuilder& builder, const FabricSpec&) {
  const int hub = builder.add_vertex("switch", VertexKind::Switch);
  for (const NicPort& nic : builder.nics) builder.hang(nic.vertex, hub, nic.rate, nic.latency);
}

}  // namespace paceline::models::fabrics
