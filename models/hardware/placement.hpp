// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "models/hardware/device.hpp"

/// Where the members of a communication group sit, as far as the cost of its messages depends on
/// it.
namespace paceline::models {

/// Inside the domains: `link` joins units of the step before (single devices at first).
struct LayoutStep {
  const Link* link = nullptr;
  int domains = 0;           ///< domains of this level the group touches
  int ranks_per_domain = 0;  ///< the most members in one of them
};

/// A domain is a node, or several nodes that share a device link (NVL72): the largest set of
/// devices that reach each other without the network. Where a group spans sites, a domain is a
/// site, and the network is the slowest of the ways between neighbours on the ring of its sites.
/// Pointers lead into the Cluster, which must outlive this.
struct GroupLayout {
  int ranks = 0;
  int domains = 0;           ///< domains the group touches; above 1 the network takes part
  int ranks_per_domain = 0;  ///< the most members in one domain
  int nodes = 0;
  int ranks_per_node = 0;  ///< the most members on one node
  /// the most nodes the group has in one domain (1 but for racks like NVL72)
  int nodes_per_domain = 0;

  /// the innermost link that joins all members; null when there is none
  const Link* common = nullptr;
  const Link* intra = nullptr;    ///< the slowest device link on the way; null when none is used
  const Link* network = nullptr;  ///< the slowest network on the way; null inside one domain
  int ports_per_node = 0;         ///< of the nodes with the slowest network
  int devices_per_node = 0;       ///< of the same nodes
  double network_share = 1;  ///< sibling groups on the node's ports: devices over members per node
  double oversubscription = 1;  ///< of the cluster, when the network takes part
  int sites = 1;                ///< sites the group touches, 1 where a cluster states none

  std::array<LayoutStep, kMaxLevels> steps{};  ///< device links used, innermost first
  int step_count = 0;

  bool crosses_network() const { return domains > 1; }
  /// Network ports the group's nodes of one domain have together; network_share divides these too.
  int ports_per_domain() const { return sites > 1 ? 1 : ports_per_node * nodes_per_domain; }
  /// What the slowest node of the group can send, one way, while its sibling groups do the same:
  /// ports times their large-message rate over the share; 0 without a network.
  base::BytesPerSecond node_rate() const;
};

/// One axis of a group: `count` members `stride` devices apart.
struct Axis {
  std::int64_t stride = 1;
  int count = 1;
};

/// Layout of any set of distinct devices, in any order. Indices must lie in the cluster (checked).
GroupLayout layout_of(const Cluster& cluster, std::span<const int> devices);

/// Layout of first, first + stride, …, without listing them: the cost does not grow with `count`.
/// stride >= 1, count >= 1, all indices in the cluster (checked).
GroupLayout layout_of(const Cluster& cluster, int first, std::int64_t stride, int count);

/// Layout of the sums of the axes, innermost first; axes that continue one another are merged and
/// sized without listing, others are listed. All indices distinct.
GroupLayout layout_of(const Cluster& cluster, int first, std::span<const Axis> axes);

/// The link a message between two different devices goes over at its slowest, as a pair layout;
/// between sites that of its direction.
GroupLayout layout_of_pair(const Cluster& cluster, int from, int to);

}  // namespace paceline::models
