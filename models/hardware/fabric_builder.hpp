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

/// Consecutive nodes that one network joins.
struct FabricPart {
  int first_node = 0, nodes = 0;
  std::string prefix;         ///< of the names of its vertices
  std::vector<NicPort> nics;  ///< of the nodes built, ascending by node and index
};

struct FabricBuilder {
  const Cluster& cluster;
  std::vector<int> nodes;  ///< those built, ascending
  Fabric fabric;
  std::vector<NicPort> nics;                   ///< ascending by node and index
  std::vector<std::pair<int, Uplink>> hung{};  ///< vertex and uplink, innermost first

  int add_vertex(std::string name, VertexKind kind, int node = -1, int device = -1);
  int add_wire(int from, int to, base::BytesPerSecond bandwidth, base::Seconds latency = {});
  /// A wire up with the latency and one down without.
  Uplink join(int child, int parent, base::BytesPerSecond bandwidth, base::Seconds latency = {});
  /// The same; the child hangs below the parent from now on.
  Uplink hang(int child, int parent, base::BytesPerSecond bandwidth, base::Seconds latency = {});
  /// Share of their line rate that large transfers reach on wires between switches: the network's.
  double line_share() const { return cluster.groups.front().network.efficiency; }
  Fabric finish();
};

/// "n3": how the names of all in a node begin.
inline std::string node_name(int node) { return "n" + std::to_string(node); }

/// What the ports of nodes first … first + count - 1 send together; nodes count over all groups.
/// Slots beyond the last of `part` count like the last: a job on some nodes meets switches built
/// for a whole machine.
base::BytesPerSecond nodes_rate(const Cluster& cluster, const FabricPart& part, int first,
                                int count);
struct FabricInput;

/// One kind of network (fabrics/list.def).
struct FabricKind {
  std::string_view name;
  bool nests;  ///< ends in one switch, so that it may be the inside of a site
  std::string_view summary;
  void (*read)(FabricInput& in, FabricSpec& spec);
  /// Joins the NICs of a part; the vertex above all of them, or -1 when there is none.
  int (*build)(FabricBuilder& builder, const FabricSpec& spec, const FabricPart& part);
};
std::span<const FabricKind> fabric_kinds();
const FabricKind& fabric_kind(std::string_view name);  ///< must be one of them (checked)

}  // namespace paceline::models
