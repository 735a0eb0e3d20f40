// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "models/hardware/fabric.hpp"

/// How fabrics are put together: nodes first, then the network of the kind asked for.
namespace paceline::models {

/// A port group of a node, waiting to be joined to the network.
struct NicPort {
  int vertex = 0;
  int node = 0;   ///< of the cluster
  int index = 0;  ///< within the node
  base::BytesPerSecond rate;
  base::Seconds latency;
};

struct FabricSpec;

struct FabricBuilder {
  const Cluster& cluster;
  std::vector<int> nodes;  ///< those built, ascending
  Fabric fabric;
  std::vector<NicPort> nics;  ///< ascending by node and index
  std::vector<std::pair<int, Uplink>> hung;

  int add_vertex(std::string name, VertexKind kind, int node = -1, int device = -1);
  int add_wire(int from, int to, base::BytesPerSecond bandwidth, base::Seconds latency = {});
  /// A wire up with the latency and one down without; the child hangs below the parent from now on.
  Uplink hang(int child, int parent, base::BytesPerSecond bandwidth, base::Seconds latency = {});
  Fabric finish();
};

/// What all ports of a node send together; `node` counts over all groups.
base::BytesPerSecond node_rate(const Cluster& cluster, int node);
/// The same for nodes first … first + count - 1. Slots beyond the last node count like the last:
/// a job on part of a machine meets switches built for all of it.
base::BytesPerSecond nodes_rate(const Cluster& cluster, int first, int count);

/// One kind of network (fabrics/list.def).
struct FabricKind {
  std::string_view name;
  std::string_view summary;
  void (*build)(FabricBuilder& builder, const FabricSpec& spec);
};
std::span<const FabricKind> fabric_kinds();

}  // namespace paceline::models
