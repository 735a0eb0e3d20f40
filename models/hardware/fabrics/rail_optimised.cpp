// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabrics/fabrics.hpp"

namespace paceline::models::fabrics {

void read_rail_optimised(FabricInput& in, FabricSpec& spec) {
  spec.nodes_per_leaf = in.group("nodes_per_group");
  if (in.fields.has("oversubscription"))
    spec.oversubscription = in.number("oversubscription", 1, 1000);
  spec.switch_latency = in.latency("switch_latency");
}

/// NIC i of every node of a group hangs on rail i of the group; other rails and other groups are
/// reached over the spine.
int build_rail_optimised(FabricBuilder& builder, const FabricSpec& spec, const FabricPart& part) {
  const int spine = builder.add_vertex(part.prefix + "spine", VertexKind::Switch);
  std::vector<int> rails;
  int group = -1;
  for (const NicPort& nic : part.nics) {
    const int here = (nic.node - part.first_node) / spec.nodes_per_leaf;
    if (here != group) rails.clear();
    group = here;
    if (static_cast<std::size_t>(nic.index) == rails.size()) {
      rails.push_back(builder.add_vertex(
          part.prefix + "group" + std::to_string(group) + ".rail" + std::to_string(nic.index),
          VertexKind::Switch));
      // All nodes of a group count as ones with this port.
      const auto below = nic.rate * spec.nodes_per_leaf;
      builder.hang(rails.back(), spine, below / spec.oversubscription, spec.switch_latency);
    }
    builder.hang(nic.vertex, rails[static_cast<std::size_t>(nic.index)], nic.rate, nic.latency);
  }
  return spine;
}

}  // namespace paceline::models::fabrics
