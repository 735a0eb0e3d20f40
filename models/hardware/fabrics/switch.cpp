// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabrics/fabrics.hpp"

namespace paceline::models::fabrics {

void read_switch(FabricInput&, FabricSpec&) {}

int build_switch(FabricBuilder& builder, const FabricSpec&, const FabricPart& part) {
  const int hub = builder.add_vertex(part.prefix + "switch", VertexKind::Switch);
  for (const NicPort& nic : part.nics) builder.hang(nic.vertex, hub, nic.rate, nic.latency);
  return hub;
}

}  // namespace paceline::models::fabrics
