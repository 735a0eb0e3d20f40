// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/units.hpp"
#include "models/hardware/fabric_spec.hpp"
#include "models/hardware/link.hpp"

namespace paceline::models {

enum class Precision { Fp32, Fp16, Bf16, Fp8 };
inline constexpr std::array<base::Named<Precision>, 4> kPrecisions{{{"fp32", Precision::Fp32},
                                                                    {"fp16", Precision::Fp16},
                                                                    {"bf16", Precision::Bf16},
                                                                    {"fp8", Precision::Fp8}}};
std::string_view to_text(Precision p);
/// Bytes of one element as stored and sent: 4, 2, 2, 1.
double element_bytes(Precision p);

/// Where no figure of the device is known: the mean of A100, H100, MI250 and MI210 over GPT and
/// LLaMA models (arXiv 2507.03114, abstract: 18.9 %, at most 40 %).
inline constexpr double kOverlapSlowdown = 1.189;

/// One accelerator, from its data sheet (models/specs/device/NAME.yaml). Rates are dense peaks of
/// the units that run matrix products (fp32: true fp32, not TF32); 0 means the precision is not
/// supported. Bandwidths count one direction.
struct Device {
  std::string name;
  std::string source;       ///< the sources of its numbers, joined
  std::string summary;      ///< product name, one line
  std::string note;         ///< what to know, for example how a device is counted; may be empty
  std::vector<Fact> facts;  ///< every number with its source, in file order
  /// models/specs/profile/NAME.json with its fitted constants, or the path of such a file
  std::string profile;
  std::string generation;  ///< pascal, volta, turing, ampere, ada, hopper, blackwell, cdna2..4,
                           ///< davinci, xe-hpc, cpu
  std::array<base::FlopsPerSecond, 4> matrix_rate{};  ///< by Precision
  base::FlopsPerSecond vector_rate;                   ///< fp32 outside the matrix units
  int multiprocessors = 0;                            ///< SMs or CUs, the width of one wave
  base::Bytes memory;  ///< what a process can allocate, below the nominal size
  base::BytesPerSecond memory_bandwidth;
  base::BytesPerSecond host_bandwidth;  ///< PCIe or C2C to the host
  std::optional<base::Watts> tdp;       ///< absent: unknown
  std::optional<base::Watts> idle;      ///< absent: unknown
  double clock = 1;                     ///< share of the highest at which it runs
  /// Kernels beside communication kernels take this many times as long: those hold multiprocessors
  /// and memory bandwidth.
  double overlap_slowdown = kOverlapSlowdown;
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
  std::vector<Level> levels;       ///< innermost first; the last may span nodes (NVL72)
  Link network;                    ///< one port
  int ports_per_node = 0;          ///< 0: a single-node machine without a network
  std::string host;                ///< intel or amd: NCCL's ceilings depend on it
  std::optional<PcieTree> pcie{};  ///< absent: a device reaches its ports past no other
  int devices() const { return nodes * devices_per_node; }
};

/// Where a device of a cluster sits.
struct DevicePlace {
  std::size_t group = 0;
  int node = 0;
};

/// The machine a scenario runs on (models/specs/cluster/NAME.yaml, or inline). Device indices run
/// over the groups in order, node by node.
struct Cluster {
  std::string name;
  std::string source;       ///< the sources of its numbers, joined
  std::string summary;      ///< one line
  std::string note;         ///< may be empty
  std::vector<Fact> facts;  ///< every number with its source, in file order
  std::vector<NodeGroup> groups;
  double oversubscription = 1;  ///< downlink over uplink bandwidth above the first switch
  int nodes_per_switch = 0;  ///< consecutive nodes below one first switch; 0: every group crosses
  FabricSpec fabric{};       ///< the network in detail; kind is empty when none is stated
  int devices() const;
  /// Index of the group a device lies in, and its node counted over all groups; devices are
  /// numbered through the groups in order. `device` must lie in the cluster (checked).
  DevicePlace place_of(int device) const;
};

/// Limits of a cluster; beyond them the reader reports an error.
inline constexpr int kMaxDevices = 10'000'000;
inline constexpr int kMaxDevicesPerNode = 1024;
inline constexpr int kMaxLevels = 4;
inline constexpr int kMaxLevelSize = 65536;

/// Reads specs by name from the spec folders. Unknown names list the nearest valid ones; `where`
/// names the place that asked ("file:line:column: key") in messages. Every number of a spec carries
/// its source: `{value: 312 TFLOP/s, source: sheet}`, `sheet` being a key of the spec's `sources`.
Device read_device(const std::string& name, const std::string& where = "");
/// The device a scenario or cluster names under `key`: a spec, or a file of the user's own (a path
/// that ends in .yaml or .json, from the folder of the document).
Device read_device_at(base::Fields& fields, std::string_view key);
Link read_link(const std::string& name, const std::string& where = "");
Device read_device(const base::Document& document, const std::string& name);
Link read_link(const base::Document& document, const std::string& name);

/// A cluster as a scenario states it:
///   {preset: dgx-h100, nodes: 8}, with optional device, devices, network, ports, efficiency (of
///   the
///     network), oversubscription and host in place of the preset's;
///   {node: {device: h100-sxm, devices: 8, link: nvlink4-nvswitch, network: ndr400, ports: 8},
///   nodes: 4},
///     `levels: [{devices: 2, link: …}, {devices: 8, link: …}]` standing for `link` where needed;
///   {groups: [{preset: …} | {node: …}, …]} for nodes of several kinds.
/// A link is a name or `{bandwidth: 25 GB/s, latency: 5 us, …}`, over `spec: NAME` when given.
Cluster read_cluster(base::Fields fields);
/// The preset as it stands in its file.
Cluster read_cluster(const std::string& preset, const std::string& where = "");
Cluster read_cluster(const base::Document& document, const std::string& name);

/// The folders that are searched, first hit wins: those named by PACELINE_SPECS (colon separated),
/// share/paceline/specs beside the folder of the executable, the source tree.
std::vector<std::string> spec_folders();
/// Names of every spec of a kind ("device", "link", "cluster", "stack", "model", "profile"),
/// sorted.
std::vector<std::string> spec_names(std::string_view kind);
/// Whether a name is that of a file, not of a spec: it ends in .yaml, .yml or .json.
bool names_file(std::string_view name);
/// A path as it stands in `document`, from the folder of that file.
std::string path_beside(const std::string& document, const std::string& path);
/// The file of a spec; base::Error with the nearest valid names when there is none.
std::string spec_path(std::string_view kind, const std::string& name,
                      const std::string& where = "");

/// Short text with the numbers, their units and sources, one a line.
std::string describe(const Device& device);
std::string describe(const Link& link);
std::string describe(const Cluster& cluster);

}  // namespace paceline::models
