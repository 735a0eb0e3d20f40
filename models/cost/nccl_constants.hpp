// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <span>
#include <string_view>

#include "base/units.hpp"
#include "models/hardware/device.hpp"

/// NCCL's own tuning constants, per release and GPU generation. Source of every number: the public
/// NCCL repository, src/graph/{tuning,search,connect,paths}.cc, topo.h, transport/nvls.cc and
/// enqueue.cc of the release named (2.7 to 2.30). Latencies in microseconds, rates in GB/s (1e9).
namespace paceline::models {

/// Ring, Tree and the in-switch reductions of NVSwitch; Pat: NCCL's logarithmic all-gather and
/// reduce-scatter for one GPU per node; Direct: point-to-point messages, no algorithm;
/// Hierarchical: inside the domains, then between them, as frameworks compose it (NCCL itself never
/// does). CollNetDirect and CollNetChain: the switches of the network reduce between the domains
/// (SHARP), inside them every GPU sends to every other, or along chains; so does Nvls over several
/// domains, with NVSwitch inside.
enum class CollectiveAlgorithm {
  Ring,
  Tree,
  Nvls,
  NvlsTree,
  Pat,
  Direct,
  Hierarchical,
  CollNetDirect,
  CollNetChain
};
/// A bit per algorithm that NCCL chooses from.
inline constexpr unsigned kNcclAlgorithms =
    ~(1u << static_cast<unsigned>(CollectiveAlgorithm::Hierarchical));
enum class CollectiveProtocol { LL, LL128, Simple };
std::string_view to_text(CollectiveAlgorithm a);
std::string_view to_text(CollectiveProtocol p);

/// One value per protocol: LL, LL128, Simple.
using ByProtocol = std::array<double, 3>;

/// Latencies of one algorithm, us.
struct AlgorithmLatency {
  ByProtocol base;    ///< once per call
  ByProtocol nvlink;  ///< per step inside a node
  ByProtocol pci;     ///< per step over PCIe
  ByProtocol net;     ///< per step between nodes
};

/// What one NCCL release assumes when it chooses an algorithm, and what it can run at all.
struct NcclRelease {
  std::string_view name;  ///< "2.18": these constants hold from this release to the next entry
  int minor = 0;
  AlgorithmLatency tree, ring;
  double nvls_step = 0;      ///< us inside the node; 0: the release has no NVLS
  double nvls_tree_net = 0;  ///< us per step between nodes; 0: no NVLSTree
  double ll_max_hopper = 0;  ///< GB/s, LL ceiling of one Hopper node
  bool pat = false;          ///< logarithmic all-gather and reduce-scatter
  /// CollNetDirect, CollNetChain, and NVLS over several nodes with the network's switches reducing;
  /// older releases have another CollNet, which is not modelled
  bool collnet = false;
  bool collnet_gathers = false;  ///< all-gather and reduce-scatter by CollNetDirect too
};

/// Constants of a release by name ("2.18") or full version ("2.19.3" takes the newest entry that is
/// not newer). Throws base::Error, listing the entries, for anything else, below 2.7 or above 2.30.
const NcclRelease& nccl_release(std::string_view version);
std::span<const NcclRelease> nccl_releases();

/// Constants that follow from the GPU generation, GB/s. Indexed arrays: 1, 2, more than 2 nodes.
struct NcclGeneration {
  std::string_view name;
  double per_link;                       ///< what the channel search takes as one NVLink's rate
  std::array<double, 3> tree_max;        ///< Simple tree, per channel
  std::array<double, 3> tree_ll128_max;  ///< per channel
  double ring_ll128_max;                 ///< per channel
  double channel_rate;                   ///< channel speed the search finds inside a full node
  double ll_max;                         ///< LL ceiling of one node
  std::array<double, 2> nvls_tree_max;   ///< per channel, 2 / more than 2 nodes; 0: none
  double nvls_efficiency;                ///< NCCL's own; 0: none
  int nvls_channels;
  std::span<const double> intra_speeds, inter_speeds;  ///< channel speeds tried, descending
};

/// By Device::generation; AMD and unknown generations get Ampere's numbers (no NVLS).
const NcclGeneration& nccl_generation(std::string_view generation);

/// LL ceiling in GB/s: by generation on one node, by CPU vendor on several.
double ll_max_rate(const NcclGeneration& generation, const NcclRelease& release, int nodes,
                   std::string_view host);

/// NCCL's correction of tree bandwidth at a size, 0.4 to 1. NCCL steps at powers of two; between
/// them this interpolates so that time stays monotone in size.
double tree_correction(CollectiveProtocol protocol, double bytes);

/// Channels of the graph search: `graph` of `rate` GB/s each; the kernels run `launched` of them
/// (the connect step doubles the rings), one SM each.
struct NcclChannels {
  int graph = 0;
  double rate = 0;
  int launched = 0;
  double bus() const { return graph * rate; }
};

/// The channels NCCL finds for a node of `links` NVLinks, and `ports` network ports of `port` (0
/// ports: one node).
NcclChannels nccl_channels(const NcclGeneration& generation, int links, int ports = 0,
                           base::BytesPerSecond port = base::BytesPerSecond(0));

inline constexpr double kNvlsChunkMax = 128 * 1024;     ///< bytes, NCCL's default
inline constexpr double kNvlsChunkMaxEfa = 512 * 1024;  ///< bytes, set by the AWS plugin

/// Chunk of one NVLS message: `queue` = channels x heads. It grows with the size of the array.
double nvls_chunk(double bytes, double queue, double chunk_max);
/// The same for NVLSTree; from 2.19 on NCCL caps it at 64 KiB for four nodes or more.
double nvls_tree_chunk(double bytes, double queue, double chunk_max, int nodes);

}  // namespace paceline::models
