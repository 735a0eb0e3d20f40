// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/units.hpp"

namespace paceline::models {

enum class Precision { Fp32, Fp16, Bf16, Fp8 };
inline constexpr std::array<base::Named<Precision>, 4> kPrecisions{{
    {"fp32", Precision::Fp32}, {"fp16", Precision::Fp16}, {"bf16", Precision::Bf16},
    {"fp8", Precision::Fp8}}};
std::string_view to_text(Precision p);
/// Bytes of one element as stored and sent: 4, 2, 2, 1.
double element_bytes(Precision p);

/// One accelerator, from its data sheet (models/specs/device/NAME.yaml). Rates are dense peaks of
/// the matrix units; 0 means the precision is not supported. Bandwidths count one direction.
struct Device {
  std::string name;
  std::string source;
  std::string profile;      ///< models/specs/profile/NAME.json with its fitted constants
  std::string generation;   ///< volta, turing, ampere, ada, hopper, blackwell, cdna2, cdna3, cpu
  std::array<base::FlopsPerSecond, 4> matrix_rate{};  ///< by Precision
  base::FlopsPerSecond vector_rate;                   ///< fp32 outside the matrix units
  int multiprocessors = 0;                            ///< SMs or CUs, the width of one wave
  base::Bytes memory;
  base::BytesPerSecond memory_bandwidth;
  base::BytesPerSecond host_bandwidth;  ///< PCIe or C2C to the host
  base::Watts tdp;
  base::Watts idle;
};

enum class LinkKind { NvLink, NvSwitch, Xgmi, Pcie, Infiniband, Roce, Efa, Slingshot, OmniPath, Tcpx, Ethernet };

/// One kind of link (models/specs/link/NAME.yaml).
struct Link {
  std::string name;
  std::string source;
  LinkKind kind = LinkKind::Infiniband;
  base::BytesPerSecond bandwidth;  ///< per device (inside a node) or per port (network), one way
  int lanes = 1;                   ///< NVLink links per device; 1 for networks
  double efficiency = 1;           ///< share of the bandwidth large transfers reach
  base::Seconds latency;           ///< one hop of a small (LL) message
  bool multicast = false;          ///< the switch adds and copies (NVLS)
};

/// Devices closer than the network: `size` consecutive device indices share `link`.
struct Level {
  int size = 1;
  Link link;
};

/// Nodes of one kind.
struct NodeGroup {
  Device device;
  int nodes = 1;
  int devices_per_node = 8;
  std::vector<Level> levels;  ///< innermost first; the last may span nodes (NVL72)
  Link network;               ///< one port
  int ports_per_node = 0;     ///< 0: a single-node machine without a network
  std::string host;           ///< intel or amd: NCCL's ceilings depend on it
};

/// The machine a scenario runs on (models/specs/cluster/NAME.yaml, or inline). Device indices run
/// over the groups in order.
struct Cluster {
  std::string name;
  std::string source;
  std::vector<NodeGroup> groups;
  double oversubscription = 1;  ///< downlink over uplink bandwidth above the first switch
  int devices() const;
};

/// Reads specs by name from the spec folders (installed share/paceline/specs or the source tree;
/// PACELINE_SPECS names further folders). Unknown names list the nearest valid ones.
Device read_device(const std::string& name);
Link read_link(const std::string& name);
Cluster read_cluster(base::Fields fields);  ///< `{preset: dgx-h100, nodes: 8}` or inline groups
/// Names of every spec of a kind ("device", "link", "cluster", "stack", "model", "profile").
std::vector<std::string> spec_names(std::string_view kind);
/// The file of a spec; base::Error with the nearest valid names when there is none.
std::string spec_path(std::string_view kind, const std::string& name, const std::string& where = "");

}  // namespace paceline::models
