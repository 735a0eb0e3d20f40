// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/fabric_spec.hpp"

/// Nodes as their own tools describe them: NCCL's topology XML (NCCL_TOPO_DUMP_FILE) and the table
/// of `nvidia-smi topo -m`.
namespace paceline::models {

/// What such a file says of a node.
struct NodeTopology {
  int devices = 0;
  int ports = 0;          ///< network ports; 0: none seen
  int nvlinks = 0;        ///< of a device; 0: none seen
  bool nvswitch = false;  ///< they lead to switches
  std::string host;       ///< intel, amd, arm; empty: the file does not say
  // PCI Express: what shares a root port shares a switch; PcieTree has the same members.
  std::vector<int> device_switch, port_switch, switch_socket;
};

/// Reads either format, told apart by the first character. base::Error with file:line:column when
/// the file is malformed, contradicts itself or describes no device.
NodeTopology read_topology(const std::string& path);
NodeTopology parse_topology(std::string_view text, const std::string& file);

// The formats.
NodeTopology parse_nccl_topology(std::string_view text, const std::string& file);
NodeTopology parse_topology_table(std::string_view text, const std::string& file);

inline constexpr int kMaxTopologyDevices = 1024;

}  // namespace paceline::models
