// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>

#include "models/cost/collective.hpp"

/// Internals of the white box: the group in plain numbers (bytes per second, seconds).
namespace paceline::models::detail {

struct Fabric {
  double ranks = 1, domains = 1, per_domain = 1;
  double inside = 0;  ///< B/s a rank moves inside its domain, one way; infinite with one member
  double nic = 0;     ///< B/s one domain's share of the ports moves; infinite with one domain
  ByProtocol step{}, tree_step{};  ///< s per hop inside a domain
  ByProtocol hop{};                ///< s per hop between domains
  ByProtocol base{};               ///< s per call
  double ll_max = 0;               ///< B/s
  double nvls = 0;  ///< B/s of an in-switch all-reduce with the largest chunk; 0: none
  double chunk_max = kNvlsChunkMax;
  double queue = 0;  ///< NVLS channels x heads
  /// B/s one domain's share of the ports sends to switches that reduce, and gets back; 0: none
  double collnet = 0;
  double collnet_hop = 0;  ///< s that the network is slower than InfiniBand, once
  double heads = 1;        ///< ranks of a domain with a port of their own
  bool ll128 = false;
  bool wan = false;       ///< the network joins sites: a message takes latency and line rate
  double tree_limit = 0;  ///< bytes, the largest array NCCL reduces along a tree
  const NcclGeneration* generation = nullptr;
};

Fabric make_fabric(const CollectiveGroup& group, const NcclRelease& release);

/// Seconds in full, and the part that does not depend on the size.
struct Timing {
  double time = 0;
  double latency = 0;
};

Timing ring_time(CollectiveOp op, CollectiveProtocol p, double bytes, const Fabric& f);
Timing tree_time(CollectiveProtocol p, double bytes, const Fabric& f);  ///< all-reduce
/// All-reduce in one domain, or what a domain does of one; `cap` B/s bounds the rate (the network:
/// one more stage of the pipeline).
Timing nvls_time(double bytes, const Fabric& f,
                 double cap = std::numeric_limits<double>::infinity());
Timing nvls_tree_time(double bytes, const Fabric& f);             ///< all-reduce, several
Timing pat_time(CollectiveOp op, double bytes, const Fabric& f);  ///< one rank per domain
/// All-reduce, all-gather, reduce-scatter over switches that reduce (collnet_runs).
Timing collnet_time(CollectiveOp op, CollectiveAlgorithm algorithm, double bytes, const Fabric& f);
Timing nvls_collnet_time(double bytes, const Fabric& f);  ///< all-reduce, several domains
Timing send_time(double bytes, const Fabric& f);
Timing all_to_all_time(double bytes, const Fabric& f);

}  // namespace paceline::models::detail
