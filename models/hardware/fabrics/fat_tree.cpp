// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabrics/fabrics.hpp"

namespace paceline::models::fabrics {

/// Consecutive nodes share a leaf. The uplinks of a leaf are one wire a direction: ECMP spreads
/// flows over them.
void fat_tree(FabricBuilder& builder, const FabricSpec& spec) {
  const int spine = builder.add_vertex("spine", VertexKind::Switch);
  int leaf = -1, index = -1;
  for (const NicPort& nic : builder.nics) {
    if (leaf < 0 || nic.node / spec.nodes_per_leaf != index) {
      index = nic.node / spec.nodes_per_leaf;
      leaf = builder.add_vertex("leaf" + std::to_string(index), VertexKind::Switch);
      const base::BytesPerSecond below =
          nodes_rate(builder.cluster, index * spec.nodes_per_leaf, spec.nodes_per_leaf);
      builder.hang(leaf, spine, below / spec.oversubscription);
    }
    builder.hang(nic.vertex, leaf, nic.rate, nic.latency);
  }
}

}  // namespace paceline::models::fabrics
