// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "models/hardware/link.hpp"

/// Networks as specs and scenarios state them; fabric.hpp makes wires of them.
namespace paceline::models {

/// PCI Express inside a node: devices and ports below switches, a switch below the root port of a
/// socket that its devices share, sockets joined.
struct PcieTree {
  Link slot;                       ///< between a device or a NIC and its switch
  Link root_port;                  ///< between a switch and its socket
  Link sockets;                    ///< between a socket and the others
  std::vector<int> device_switch;  ///< by device of the node
  std::vector<int> nic_switch;     ///< by NIC of the node
  std::vector<int> switch_socket;  ///< by switch
};

/// From `at` on a wire carries this much; 0: it is dead.
struct RateChange {
  base::Seconds at;
  base::BytesPerSecond bandwidth;
};

/// One direction of a connection between two sites or zones.
struct WanLink {
  int from = 0, to = 0;            ///< indices of FabricSpec::sites
  base::BytesPerSecond bandwidth;  ///< 0: broken
  base::Seconds latency;           ///< one way
  double cap_per_flow = 0;         ///< B/s; 0: none
  std::vector<RateChange> changes{};
  bool of_zone = false;  ///< the uplink of a place to its zone, whose latency adds to the rest
};

/// What is known of one wire beyond its kind.
struct WireFault {
  std::string wire;  ///< "leaf0>spine"
  bool broken = false;
  std::vector<RateChange> changes{};
};

/// From one site to another: bandwidth and latency of the way as a whole.
struct SitePair {
  Link link;
  double cap_per_flow = 0;  ///< B/s; 0: none
};

struct SiteSpec;

/// What joins the nodes of a cluster, as its key `fabric` states it. Each kind of
/// fabrics/list.def reads the members it needs.
struct FabricSpec {
  std::string kind;        ///< a name of fabrics/list.def; empty: not stated
  int nodes_per_leaf = 0;  ///< or per group of rails
  int spines = 0;
  int groups = 0, routers_per_group = 0, nodes_per_router = 0;
  int links_per_pair = 0;  ///< of groups of a dragonfly
  std::array<int, 3> dims{1, 1, 1};
  double oversubscription = 1;         ///< downlink over uplink bandwidth of a leaf
  base::BytesPerSecond local, global;  ///< one wire inside a group, or between groups
  base::Seconds switch_latency;        ///< of each wire between switches
  std::vector<SiteSpec> sites;         ///< those with nodes first, in the order of nodes
  std::vector<WanLink> wan;
  std::vector<SitePair> pairs;  ///< between sites with nodes, row by row
  std::vector<int> via;         ///< last WAN link from site to site or zone, row by row; -1: none
  std::vector<WireFault> faults;
};

/// A place with nodes, or a zone that holds places.
struct SiteSpec {
  std::string name;
  int nodes = 0;                ///< 0: a zone
  base::BytesPerSecond uplink;  ///< to everything outside, each way; 0: never the bottleneck
  base::Seconds uplink_latency;
  int zone = -1;      ///< index of the zone it lies in; -1: none
  FabricSpec inside;  ///< switch, fat-tree or rail-optimised
};

/// Largest numbers a fabric may state.
inline constexpr int kMaxSites = 128;
inline constexpr int kMaxFabricWires = 1 << 21;  ///< between switches
inline constexpr double kMaxWireRate = 1e15;     ///< B/s

}  // namespace paceline::models
