// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/cost/collective.hpp"

/// Reduction in the switches of the network (NVIDIA SHARP), which NCCL calls CollNet: what can run
/// it, and the constants that the white box and NCCL's own table share. No log with such an
/// algorithm has checked the times.
namespace paceline::models {

/// The switches of the network reduce for this algorithm: the two CollNets, and NVLS over several
/// domains.
bool reduces_in_network(CollectiveAlgorithm algorithm, int domains);

/// Whether the release can run `algorithm`, one of those, for `op` on the group: the network's
/// switches reduce (Link::sharp), the group spans several domains. CollNetDirect wants an NVSwitch
/// (or one rank a domain), for gathers and scatters a port for every rank too; the others do
/// all-reduce only.
bool collnet_runs(CollectiveOp op, CollectiveAlgorithm algorithm, const CollectiveGroup& group,
                  const NcclRelease& release);

/// Bytes a rank of the group sends on average: bytes_sent_per_rank, and for those algorithms what
/// bytes_by_link counts, which is less.
base::Bytes bytes_sent(CollectiveOp op, CollectiveAlgorithm algorithm, base::Bytes size,
                       const CollectiveGroup& group);

/// Ranks of a domain that have a port of their own, and so a tree of switches.
double collnet_heads(const CollectiveGroup& group);

/// NCCL's latency of CollNetDirect or CollNetChain with `per_domain` ranks in a domain, us: to the
/// head and back, through the switches once. Source: NVIDIA/nccl src/graph/tuning.cc, the same in
/// 2.20 and 2.28.
double collnet_latency_us(CollectiveAlgorithm algorithm, double per_domain);

/// us that NVLS takes over the network, the same file.
inline constexpr double kNvlsNetUs = 18;

}  // namespace paceline::models
