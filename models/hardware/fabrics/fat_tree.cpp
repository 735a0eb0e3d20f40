// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabrics/fabrics.hpp"

namespace paceline::models::fabrics {

void read_fat_tree(FabricInput& in, FabricSpec& spec) {
  spec.nodes_per_leaf = in.group("nodes_per_leaf");
  if (in.fields.has("oversubscription"))
    spec.oversubscription = in.number("oversubscription", 1, 1000);
  spec.switch_latency = in.latency("switch_latency");
}

/// Consecutive nodes share a leaf. The uplinks of a leaf are one wire a direction: ECMP spreads
/// flows over them.
int build_fat_tree(FabricBuilder& builder, const FabricSpec& spec, const FabricPart& part) {
  const int spine = builder.add_vertex(part.prefix + "spine", VertexKind::Switch);
  int leaf = -1, index = -1;
  for (const NicPort& nic : part.nics) {
    const int here = (nic.node - part.first_node) / spec.nodes_per_leaf;
    if (here != index) {
      index = here;
      leaf = builder.add_vertex(part.prefix + "leaf" + std::to_string(index), VertexKind::Switch);
      const int first = part.first_node + index * spec.nodes_per_leaf;
      const auto below = nodes_rate(builder.cluster, part, first, spec.nodes_per_leaf);
      builder.hang(leaf, spine, below / spec.oversubscription, spec.switch_latency);
    }
    builder.hang(nic.vertex, leaf, nic.rate, nic.latency);
  }
  return spine;
}

}  // namespace paceline::models::fabrics
