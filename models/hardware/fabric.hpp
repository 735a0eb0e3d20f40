// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "models/hardware/device.hpp"

/// The wires of a cluster one by one, for engines that let messages share them: devices, ports,
/// switches, and the way a message takes. Plain data; only the nodes asked for are built.
namespace paceline::models {

enum class VertexKind {
  Device,
  Nic,
  PcieSwitch,
  HostBridge,
  DeviceSwitch,  ///< NVSwitch; also stands for links that join devices directly (NVLink, xGMI)
  Switch,
  Router,
  Site
};
std::string_view to_text(VertexKind kind);

struct Vertex {
  std::string name;  ///< unique: "n0.g3", "n0.nic3", "leaf0"
  VertexKind kind = VertexKind::Device;
  int node = -1;    ///< of the cluster; -1: outside the nodes, or shared by several
  int device = -1;  ///< index in the cluster; -1: no device
};

/// One direction of a wire. Bandwidth is what large transfers reach, ports together (Link::rate()
/// times ports); 0: broken from the start.
struct Wire {
  std::string name;  ///< unique, "FROM>TO" of the vertices' names
  int from = 0, to = 0;
  base::BytesPerSecond bandwidth;
  base::Seconds latency;
  std::vector<RateChange> changes{};  ///< in ascending time
  double cap_per_flow = 0;            ///< what one message may take at most, B/s; 0: all of it
};

/// The wires between a vertex and one nearer to the top of a tree.
struct Uplink {
  int up = -1, down = -1;
  int lead = -1;  ///< into Fabric::leads: wires before `up` and after `down`; -1: none
};

/// The way of a device to its NIC through a PCIe tree, without the last wire.
struct Lead {
  std::vector<int> up, down;
};

struct Fabric {
  std::vector<Vertex> vertices;
  std::vector<Wire> wires;
  std::vector<int> device_vertex;  ///< by device index of the cluster; -1: its node is not built

  /// Wires that leave vertex v: out_wires[out_first[v]] up to out_wires[out_first[v + 1]].
  std::vector<int> out_first, out_wires;

  // Closed-form routes. Every vertex hangs on trees: a device on one for each level of links inside
  // its node, innermost first, and on the network; other vertices on one or none. Two vertices
  // below one top meet at their lowest common ancestor; `between` joins different tops of the
  // network.
  std::vector<int> uplink_first;  ///< by vertex, into uplinks
  std::vector<Uplink> uplinks;
  std::vector<int> top, depth;  ///< by vertex: end of its chain of uplinks, and its length
  void (*between)(const Fabric& fabric, int from_device, int to_device,
                  std::vector<int>& route) = nullptr;
  std::vector<int> shape;  ///< what `between` needs: sizes and tables of its own
  std::vector<Lead> leads;
  bool broken = false;  ///< some wire is dead from the start: routes go round it

  std::span<const Uplink> uplinks_of(int vertex) const;
  std::span<const int> wires_from(int vertex) const;
  /// The top of the network above a device.
  int network_top(int device) const;
};

/// Most devices a fabric is built for.
inline constexpr int kMaxFabricDevices = 1 << 20;

/// The fabric of a cluster, or of some of its nodes (distinct, in any order; empty: all). Inside a
/// node each device has a wire to and one from the switch of every level, at Link::rate(). With P
/// ports and D devices a node has P NICs of one port if P < D, each shared by D / P consecutive
/// devices, else D NICs of P / D ports. Latency of a link stands on its first wire, so that the sum
/// along a route is that of the closed forms. Error when it would have more than kMaxFabricDevices.
Fabric make_fabric(const Cluster& cluster, std::span<const int> nodes_used = {});

/// What a cluster's fabric states and an engine without shared links does not look at, a sentence
/// each: changes, broken wires and the latency of switches.
std::vector<std::string> ignored_by_engine(const Cluster& cluster, bool shared_links);

/// Wires a message passes from one device to another, in order; none from a device to itself.
/// Deterministic; takes no longer for larger fabrics, but searches where a wire is broken. Both
/// devices must be built (checked). Error naming both ends when there is no way.
std::vector<int> route(const Fabric& fabric, int from_device, int to_device);

/// Marks wires as broken and adds their changes; names of wires that are not built are ignored.
void apply_faults(Fabric& fabric, std::span<const WireFault> faults);

/// "no way leads from device n0.g0 to device n3.g1" for some pair of built devices that broken
/// wires cut apart; empty when there is none.
std::string unreachable_pair(const Fabric& fabric);

/// What the lower half of the nodes (of one node: of its devices) can send to the upper half at the
/// same time, all wires used at best: a maximum flow. 0 for a single device.
base::BytesPerSecond bisection_bandwidth(const Fabric& fabric);

/// "fat-tree of 8 nodes a leaf, oversubscription 2", one line.
std::string fabric_text(const Cluster& cluster);

/// Graphviz text. Nodes that hang on the same switches are drawn as one when there are many.
std::string to_dot(const Fabric& fabric);

}  // namespace paceline::models
