// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/fabrics/fabrics.hpp"

namespace paceline::models::fabrics {
namespace {

/// shape: the number of spines, then by leaf from shape[1]: its first wire; wires up and down
/// alternate over the spines.
void through_a_spine(const Fabric& fabric, int from_device, int to_device,
                     std::vector<int>& route) {
  const auto spines = static_cast<std::uint64_t>(fabric.shape[0]);
  const int base = fabric.shape[1];
  const auto first_wire = [&](int device) {
    return fabric.shape[static_cast<std::size_t>(2 + fabric.network_top(device) - base)];
  };
  // splitmix64 of both ends, as switches hash the addresses of a flow
  std::uint64_t h =
      (static_cast<std::uint64_t>(from_device) << 32) | static_cast<std::uint32_t>(to_device);
  h += 0x9e3779b97f4a7c15u;
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
  const int spine = static_cast<int>((h ^ (h >> 31)) % spines);
  route.push_back(first_wire(from_device) + 2 * spine);
  route.push_back(first_wire(to_device) + 2 * spine + 1);
}

}  // namespace

void read_leaf_spine(FabricInput& in, FabricSpec& spec) {
  spec.nodes_per_leaf = in.group("nodes_per_leaf");
  spec.spines = in.integer("spines", 1, 1024);
  in.check_wires("spines", 2.0 * spec.spines * (1 + in.nodes / spec.nodes_per_leaf));
  spec.global = in.rate("uplink");
  spec.switch_latency = in.latency("switch_latency");
}

int build_leaf_spine(FabricBuilder& builder, const FabricSpec& spec, const FabricPart& part) {
  std::vector<int> spines, leaves;
  const double line = builder.line_share();
  for (int s = 0; s < spec.spines; ++s)
    spines.push_back(
        builder.add_vertex(part.prefix + "spine" + std::to_string(s), VertexKind::Switch));
  int index = -1;
  const auto leaf_of = [&](const NicPort& nic) {
    return (nic.node - part.first_node) / spec.nodes_per_leaf;
  };
  for (const NicPort& nic : part.nics) {
    if (leaf_of(nic) == index) continue;
    index = leaf_of(nic);
    leaves.push_back(
        builder.add_vertex(part.prefix + "leaf" + std::to_string(index), VertexKind::Switch));
  }
  builder.fabric.shape = {spec.spines, leaves.front()};
  for (const int leaf : leaves) {
    builder.fabric.shape.push_back(static_cast<int>(builder.fabric.wires.size()));
    for (const int spine : spines) {
      builder.add_wire(leaf, spine, spec.global * line, spec.switch_latency);
      builder.add_wire(spine, leaf, spec.global * line);
    }
  }
  builder.fabric.between = &through_a_spine;
  std::size_t at = 0;
  index = leaf_of(part.nics.front());
  for (const NicPort& nic : part.nics) {
    if (leaf_of(nic) != index) ++at;
    index = leaf_of(nic);
    builder.hang(nic.vertex, leaves[at], nic.rate, nic.latency);
  }
  return -1;
}

}  // namespace paceline::models::fabrics
