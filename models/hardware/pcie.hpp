// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/hardware/fabric_builder.hpp"
#include "models/hardware/reading.hpp"
#include "models/hardware/topology.hpp"

/// PCI Express inside nodes: what specs say of it and the wires it makes.
namespace paceline::models {

/// NICs the ports of a node are bundled into (fabric.hpp); 0 without a network.
int nics_of(const NodeGroup& group);

/// `pcie: {switches: 4, sockets: 2, slot: LINK, root_port: LINK, socket_link: LINK}`: devices and
/// NICs are spread over the switches in order, the switches over the sockets. With the topology of
/// a node at hand that says where they are, and `switches` and `sockets` are not given.
PcieTree read_pcie(base::Fields& node, const Reading& in, const NodeGroup& group,
                   const NodeTopology* topology);

/// What a topology file says of the node, in place of `devices`, `ports` and `host`; errors where
/// the node states something else.
NodeTopology read_node_topology(base::Fields& node, const Reading& in);
void check_node_topology(const base::Fields& node, const NodeTopology& topology,
                         const NodeGroup& group);

/// The vertices of one node's tree.
struct PcieVertices {
  std::vector<int> switches;
  std::vector<Uplink> slots;  ///< by device: the wires between it and its switch
};

/// The tree of one node. A device hangs on it where PCI Express is one of its levels.
PcieVertices add_pcie(FabricBuilder& builder, const NodeGroup& group, int node, int first_device);

/// Joins a NIC to its switch and says how a device gets there.
Uplink lead_to_nic(FabricBuilder& builder, const PcieTree& tree, const PcieVertices& built,
                   const Uplink& nic_slot, int device_in_node, int nic_in_node);

}  // namespace paceline::models
