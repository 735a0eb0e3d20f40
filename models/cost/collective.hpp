// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/units.hpp"
#include "models/cost/nccl_constants.hpp"
#include "models/hardware/device.hpp"

/// Time of one collective or point-to-point transfer: a white box built on NCCL's constants, or a
/// table measured on the very link where one exists. Pure, allocation-free, about 0.1 us a call.
namespace paceline::models {

struct CollectiveTable;
struct CollectiveChoice;

enum class CollectiveOp {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Broadcast,
  SendRecv,
  Reduce
};
inline constexpr int kCollectiveOps = 7;
std::string_view to_text(CollectiveOp op);
/// Nothing for a name there is none of.
std::optional<CollectiveOp> collective_named(std::string_view name);

/// What the group looks like on the machine.
struct CollectiveGroup {
  int ranks = 1;                  ///< members
  int domains = 1;                ///< NVLink domains (nodes) spanned
  int per_domain = 1;             ///< members per domain
  const Link* intra = nullptr;    ///< inside a domain; may be null with one member per domain
  const Link* network = nullptr;  ///< between domains; may be null with one domain
  double ports = 8;               ///< network ports of a node
  /// Sibling groups that use the ports of the node at the same time: ports / sharers is what one
  /// group gets. A GPU reaches its own ports only, so 8-GPU nodes with one member each give 8 even
  /// when the siblings idle.
  double sharers = 1;
  /// The same for trees of switches that reduce: however many nodes hang on a first switch, each
  /// passes its sum on once. 0: as `sharers`.
  double tree_sharers = 0;
  /// Devices wired to each other in a domain without a switch (NvLink, Xgmi): a smaller group
  /// reaches only its part of their links, (members - 1) / (devices - 1). 0: the group fills the
  /// domain.
  int domain_devices = 0;
  std::string_view host;        ///< "intel" or "amd"; anything else counts as intel
  std::string_view generation;  ///< Device::generation
  /// Measured times of `intra` (collective_table.hpp), used by groups of one domain; may be null.
  const CollectiveTable* table = nullptr;
  /// Curves of the user's own logs, made for this very group; they come before `table`.
  std::shared_ptr<const CollectiveTable> logs;
  /// What NCCL_ALGO and NCCL_PROTO leave, a bit per enumerator. NCCL falls back to rings for the
  /// collectives that have nothing else.
  unsigned algorithms = kNcclAlgorithms;
  unsigned protocols = ~0u;
  /// NCCL's own cost table chooses (nccl_tuner.hpp), not the white box: its wrong choices too.
  bool tuner = false;
};

/// The time and how it comes about.
struct CollectiveChoice {
  base::Seconds time;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Direct;
  CollectiveProtocol protocol = CollectiveProtocol::Simple;
  base::Seconds latency;  ///< the part that does not depend on the size
  bool measured = false;  ///< from a table rather than from the white box
};

/// Time of `op` on `size` bytes. `size` is the full array, as nccl-tests counts: the gathered array
/// of AllGather, the input of ReduceScatter, what one rank holds for all others in AllToAll, the
/// message of SendRecv (from one rank to another; across domains when the group spans two). One
/// rank or no bytes take no time. Finite, and monotone in size and in bandwidth.
///
/// The white box is the fastest of the algorithms and protocols the release can run on this group;
/// NCCL's own choice (nccl_tuner.hpp) differs where its constants are off.
CollectiveChoice collective_time(CollectiveOp op, base::Bytes size, const CollectiveGroup& group,
                                 const NcclRelease& release);

/// The white box alone, whatever tables the group carries.
CollectiveChoice white_box_time(CollectiveOp op, base::Bytes size, const CollectiveGroup& group,
                                const NcclRelease& release);

/// Time of an all-to-all of unequal shares: `bytes[i * ranks + j]` goes from rank i to rank j. The
/// busiest rank decides, by what it sends or receives.
CollectiveChoice all_to_all_v_time(std::span<const double> bytes, const CollectiveGroup& group,
                                   const NcclRelease& release);

/// Time of an exchange in two steps over the group, pipelined (DeepSeek-V3, arXiv 2412.19437,
/// section 3.2.2): each rank sends `across` bytes over the network to its counterparts in the other
/// domains while `inside` bytes go to the ranks of its own. The slower of the two, each an
/// all-to-all.
CollectiveChoice two_step_time(base::Bytes across, base::Bytes inside, const CollectiveGroup& group,
                               const NcclRelease& release);

/// The white box makes no claim for the group without a log: a link says so (Link::claim: TCPX,
/// sockets, copies through the host), or it spans several NVLink domains of many nodes (NVL72).
/// The link's name, or empty.
std::string_view unclaimed_link(const CollectiveGroup& group);

/// Bytes a rank sends, which equal those it receives; averaged over the ranks for Broadcast and
/// Reduce.
base::Bytes bytes_sent_per_rank(CollectiveOp op, base::Bytes size, int ranks);

/// Bytes a rank sends over its device link and over the network, averaged over the ranks. Closed
/// forms, n ranks in N domains of g, array S:
///   ring       all-reduce 2S(n-1)/n, gather and scatter S(n-1)/n, of which N/n leave the domain;
///              broadcast and reduce S(n-N)/n and S(N-1)/n
///   tree       all-reduce, up and down each of n-1 edges: 2S(n-N)/n and 2S(N-1)/n
///   NVLS       all-reduce in the switch: S(1 + 1/g), between domains S/g where the switches of the
///              network reduce too
///   NVLSTree   S(1 + 1/g), between domains as the tree
///   CollNet    all-reduce 2S(g-1)/g and, in the switches of the network, S/g; gather S(g-1)/g and
///              S/n, scatter S(g-1)/g and S/g
///   hierarchical  all-reduce 2S(g-1)/g and 2(S/g)(N-1)/N; gather and scatter half of that;
///              broadcast and reduce as the ring
///   direct     all-to-all S(g-1)/n and S(n-g)/n; a message S
struct LinkBytes {
  base::Bytes inside, across;
};
LinkBytes bytes_by_link(CollectiveOp op, CollectiveAlgorithm algorithm, base::Bytes size,
                        int domains, int per_domain);

}  // namespace paceline::models
