// SPDX-License-Identifier: Apache-2.0
#include "models/cost/collnet.hpp"

#include <algorithm>

#include "models/cost/white_box.hpp"

namespace paceline::models {
namespace {

using A = CollectiveAlgorithm;

// us; PCIe has the same steps as NVLink.
constexpr double kDirectStep = 3.7, kDirectNet = 31, kDirectRank = 0.4;
constexpr double kChainStep = 2.8, kChainNet = 30;

/// The part of the array that the busiest rank sends over its device link (and receives): to the
/// `heads` ranks with a port, and from there to all. Averaged over the ranks it is 2 (k - 1) / k.
double inside_traffic(CollectiveAlgorithm algorithm, double k, double heads) {
  if (k <= 1) return 0;
  if (algorithm == A::CollNetDirect) return (heads + k - 2) / heads;
  // A chain passes its inner ranks on the way to the head and back, its ends once. Where heads are
  // at least half of the ranks, every rank ends some chain.
  return 2 * heads >= k ? 2 * (k - 1) / k : 2;
}

}  // namespace

bool reduces_in_network(CollectiveAlgorithm algorithm, int domains) {
  return domains > 1 &&
         (algorithm == A::CollNetDirect || algorithm == A::CollNetChain || algorithm == A::Nvls);
}

bool collnet_runs(CollectiveOp op, CollectiveAlgorithm algorithm, const CollectiveGroup& group,
                  const NcclRelease& release) {
  if (!reduces_in_network(algorithm, group.domains) || !release.collnet) return false;
  if (group.network == nullptr || !group.network->sharp) return false;
  const bool reduce = op == CollectiveOp::AllReduce;
  if (algorithm != A::CollNetDirect) return reduce;
  const bool gathers = op == CollectiveOp::AllGather || op == CollectiveOp::ReduceScatter;
  const bool ports = group.per_domain <= group.ports;
  const bool joined =
      group.per_domain == 1 || (group.intra != nullptr && group.intra->kind == LinkKind::NvSwitch);
  return joined && (reduce || (gathers && release.collnet_gathers && ports));
}

base::Bytes bytes_sent(CollectiveOp op, CollectiveAlgorithm algorithm, base::Bytes size,
                       const CollectiveGroup& group) {
  if (!reduces_in_network(algorithm, group.domains))
    return bytes_sent_per_rank(op, size, group.ranks);
  const LinkBytes bytes = bytes_by_link(op, algorithm, size, group.domains, group.per_domain);
  return bytes.inside + bytes.across;
}

double collnet_heads(const CollectiveGroup& group) {
  return std::max(1.0, std::min(static_cast<double>(group.per_domain), group.ports));
}

double collnet_latency_us(CollectiveAlgorithm algorithm, double per_domain) {
  const double others = per_domain - 1;
  if (algorithm == A::CollNetChain) return 2 * others * kChainStep + kChainNet;
  return 2 * (std::min(1.0, others) * kDirectStep + others * kDirectRank) + kDirectNet;
}

namespace detail {

Timing collnet_time(CollectiveOp op, CollectiveAlgorithm algorithm, double bytes, const Fabric& f) {
  const double latency = collnet_latency_us(algorithm, f.per_domain) * 1e-6 + f.collnet_hop;
  const double k = f.per_domain;
  const double inside =
      op == CollectiveOp::AllReduce ? inside_traffic(algorithm, k, f.heads) : (k - 1) / k;
  const double rate = k > 1 ? std::min(f.collnet, f.inside / inside) : f.collnet;
  return {latency + bytes / rate, latency};
}

Timing nvls_collnet_time(double bytes, const Fabric& f) {
  Fabric node = f;  // NCCL sizes the chunks as in one node
  node.domains = 1;
  const Timing inside = nvls_time(bytes, node, f.collnet);
  const double across = kNvlsNetUs * 1e-6 + f.collnet_hop;
  return {inside.time + across, inside.latency + across};
}

}  // namespace detail
}  // namespace paceline::models
