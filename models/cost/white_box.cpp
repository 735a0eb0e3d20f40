// SPDX-License-Identifier: Apache-2.0
#include "models/cost/white_box.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "models/cost/collnet.hpp"

// The times are S / bandwidth + steps x latency with NCCL's structure (steps, bytes per resource,
// chunks) and a handful of constants fitted, all together and with a robust loss, on public
// nccl-tests logs of many machines (scenarios/published/nccl, the sets marked calib). They predict;
// the small-message floors in particular are not latencies of NCCL itself. Because they were fitted
// on top of the newest release's base latencies, the base does not follow the release here; the
// release decides what can run.

namespace paceline::models::detail {
namespace {

constexpr double kUs = 1e-6;
constexpr double kGB = 1e9;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

constexpr ByProtocol kRingBase{6.6 + 8.0, 14.0 + 20.0, 8.4 + 18.6};
// Ring Simple on one Ampere or older node is slower by this; no hop constant explains it.
constexpr double kOldSimpleBase = 86.0;
constexpr double kTreeOverRing = 0.2;  // LL only: 6.8 against 6.6
constexpr double kSimpleStep = 0.88;   // of NCCL's
constexpr ByProtocol kNvlinkStep{0.6, 1.9, 3.4 * kSimpleStep};
constexpr ByProtocol kPciStep{1.0, 2.5, 5.7 * kSimpleStep};
constexpr ByProtocol kNvlinkTreeStep{0.6, 1.25, 4.0 * kSimpleStep};
constexpr ByProtocol kPciTreeStep{1.0, 1.9, 4.0 * kSimpleStep};
// Link::latency is the hop of an LL message; LL128 as in NCCL's table, Simple (which flushes)
// fitted.
constexpr ByProtocol kHopOverLL{0.0, 3.5, 11.6};

constexpr double kNvlsBase = 17.0;
constexpr double kNvlsFill = 2.2;      // pipeline fills per call
constexpr double kNvlsTreeFill = 1.0;  // more per doubling of nodes
constexpr double kNvlsHeads = 32;
// NCCL prefers rings in groups this small or smaller (nvls_effect set).
constexpr double kNvlsMinRanks = 5;

// Share of a port's bandwidth that reaches the reducing switches: "~20 GB/s per NIC" of 25, from a
// maintainer of NCCL (NVIDIA/nccl issue 320, January 2023).
constexpr double kCollNetShare = 0.8;
constexpr double kInfinibandHop = 5;  // us, part of NCCL's latency of CollNet

constexpr double kLL128 = 0.92;  // 120 of 128 bytes are data, less the flag check
constexpr double kReduceScatterLoss = 0.92;

bool nvlink_like(LinkKind kind) {
  return kind == LinkKind::NvLink || kind == LinkKind::NvSwitch || kind == LinkKind::Xgmi;
}

std::size_t index(CollectiveProtocol p) { return static_cast<std::size_t>(p); }

/// Floor of log2 for counts of 1 or more.
double log2_floor(double count) { return std::floor(std::log2(count) + 1e-9); }

void set_inside(Fabric& f, const CollectiveGroup& group, const NcclRelease& release) {
  const Link& link = *group.intra;
  const bool nvlink = nvlink_like(link.kind);
  f.inside = link.bandwidth.value * link.efficiency;
  const bool wired = link.kind == LinkKind::NvLink || link.kind == LinkKind::Xgmi;
  if (wired && group.domain_devices > group.per_domain)
    f.inside *= (f.per_domain - 1) / (group.domain_devices - 1.0);
  f.ll128 = nvlink;
  const bool nvidia = link.kind != LinkKind::Xgmi;
  const bool old = f.generation->nvls_channels == 0 && nvlink && nvidia;
  if (old && group.domains == 1) f.base[2] += kOldSimpleBase * kUs;
  // A chunk waits at least for the host's post of the next message when a network is involved.
  const double post = group.domains == 1 ? 0.0 : (group.host == "amd" ? 2.0 : 1.0);
  for (std::size_t p = 0; p < 3; ++p) {
    f.step[p] = std::max(nvlink ? kNvlinkStep[p] : kPciStep[p], post) * kUs;
    f.tree_step[p] = (nvlink ? kNvlinkTreeStep[p] : kPciTreeStep[p]) * kUs;
  }
  const bool nvls = link.multicast && nvidia && release.nvls_step > 0 &&
                    f.generation->nvls_channels > 0 && f.per_domain >= kNvlsMinRanks;
  if (!nvls) return;
  const double heads = std::min(f.per_domain, kNvlsHeads);
  // Every rank reads and writes the array once, and its own 1/heads share once more.
  f.nvls = link.bandwidth.value * link.multicast_efficiency / (1 + 1 / heads);
  f.queue = f.generation->nvls_channels * heads;
}

void set_network(Fabric& f, const CollectiveGroup& group) {
  const Link& link = *group.network;
  f.wan = link.kind == LinkKind::Wan;
  f.nic = link.bandwidth.value * link.efficiency * group.ports / group.sharers;
  for (std::size_t p = 0; p < 3; ++p) f.hop[p] = link.latency.value + kHopOverLL[p] * kUs;
  if (link.kind == LinkKind::Efa) f.chunk_max = kNvlsChunkMaxEfa;
  if (!link.sharp) return;
  const double sharers = group.tree_sharers > 0 ? group.tree_sharers : group.sharers;
  f.collnet =
      link.bandwidth.value * std::min(link.efficiency, kCollNetShare) * group.ports / sharers;
  f.collnet_hop = std::max(0.0, link.latency.value - kInfinibandHop * kUs);
  f.heads = collnet_heads(group);
}

/// Steps a chunk takes around the ring, and how many of them leave a node.
struct Steps {
  double all = 0, across = 0;
  double traffic = 0;  ///< bytes through every link, in units of the array
};

Steps ring_steps(CollectiveOp op, const Fabric& f) {
  Steps s;
  const double n = f.ranks;
  double passes = 1;
  switch (op) {
    case CollectiveOp::AllReduce:
      s = {2 * (n - 1), 0, 2 * (n - 1) / n};
      passes = 2;
      break;
    case CollectiveOp::AllGather:
    case CollectiveOp::ReduceScatter:
      s = {n - 1, 0, (n - 1) / n};
      break;
    case CollectiveOp::Broadcast:
    case CollectiveOp::Reduce:
    case CollectiveOp::AllToAll:
    case CollectiveOp::SendRecv:
      s = {n - 1, 0, 1};
      break;
  }
  if (f.domains > 1) s.across = f.per_domain == 1 ? s.all : std::min(s.all, passes * f.domains);
  return s;
}

/// Share of the wire rate a protocol's data gets, and its own ceiling.
double ring_rate(CollectiveProtocol p, const Fabric& f) {
  const double wire = std::min(f.inside, f.nic);
  switch (p) {
    case CollectiveProtocol::LL:
      return std::min(f.ll_max, 0.5 * wire);
    case CollectiveProtocol::LL128:
      return wire * std::min(kLL128, f.generation->ring_ll128_max / f.generation->channel_rate);
    case CollectiveProtocol::Simple:
      return wire;
  }
  return wire;
}

/// All-reduce rate of a tree inside the node, NCCL's formulas (tuning.cc).
double tree_rate_inside(CollectiveProtocol p, const Fabric& f) {
  if (f.per_domain == 1) return p == CollectiveProtocol::LL ? f.ll_max / 2 : kInfinite;
  const std::size_t many = f.domains == 1 ? 0 : f.domains == 2 ? 1 : 2;
  const double bus = f.domains > 2 ? std::min(f.inside, f.nic) : f.inside;
  const double channels = bus / f.generation->channel_rate;
  switch (p) {
    case CollectiveProtocol::LL:
      return 0.5 * std::min(bus / 3.8, f.ll_max);
    case CollectiveProtocol::LL128: {
      const double share = f.domains == 1 ? 7.0 / 9.0 : 120.0 / 128.0;
      return 0.5 * std::min(bus * share, channels * f.generation->tree_ll128_max[many]);
    }
    case CollectiveProtocol::Simple:
      return 0.5 * std::min(0.92 * bus, channels * f.generation->tree_max[many]);
  }
  return bus;
}

/// Largest size that still uses `chunk`, or infinity for the largest chunk.
double nvls_limit(double chunk, const Fabric& f) {
  if (f.domains == 1) {
    if (chunk >= f.chunk_max) return kInfinite;
    if (chunk <= 16 * 1024) return 2 * f.queue * 32 * 1024;
    if (chunk <= 32 * 1024) return 8 * f.queue * 64 * 1024;
    return 64 * f.queue * f.chunk_max;
  }
  const double most = f.domains >= 4 ? std::min(f.chunk_max, 64.0 * 1024) : f.chunk_max;
  if (chunk >= most) return kInfinite;
  if (chunk <= 32 * 1024) return f.queue * 64 * 1024;
  if (chunk <= 64 * 1024) return 4 * f.queue * 128 * 1024;
  if (chunk <= 128 * 1024) return 16 * f.queue * 256 * 1024;
  return 32 * f.queue * most;
}

/// Pipelined all-reduce through the switch: fill of the pipeline, then the stream. `cap` bounds the
/// rate (the network). A larger chunk streams faster, so the time would fall where the chunk
/// doubles; the running maximum keeps it monotone (the measured curves are flat there).
double nvls_stream(double bytes, double fills, double cap, const Fabric& f) {
  double time = 0;
  double chunk = f.domains == 1 ? 16 * 1024 : 32 * 1024;
  while (true) {
    const double limit = nvls_limit(chunk, f);
    const double size = std::min(bytes, limit);
    const double slow = 1 + 0.05 * (std::max(1.0, 128.0 * 1024 / chunk) - 1);
    const double rate = std::min(f.nvls / slow, cap);
    time = std::max(time, (fills * std::min(size, f.queue * chunk) + size) / rate);
    if (bytes <= limit) return time;
    // One node steps from 64 KiB to the largest chunk at once.
    chunk = f.domains == 1 && chunk >= 64 * 1024 ? f.chunk_max : 2 * chunk;
  }
}

/// A tree over two nodes sends half of a ring's network bytes, but NCCL's table counts them in full
/// and turns to the ring once the tree's shorter latency is outweighed; here both at their Simple
/// figures and an average tree correction. AWS's plugin brings its own table, which keeps the tree
/// (2 x p4de, 78 GB/s of bus bandwidth from 50 GB/s of ports).
double tree_limit(const Fabric& f, const CollectiveGroup& group, const NcclRelease& release) {
  if (group.domains != 2 || group.network->kind == LinkKind::Efa) return kInfinite;
  const bool nvlink = group.intra != nullptr && nvlink_like(group.intra->kind);
  const AlgorithmLatency &ring = release.ring, &tree = release.tree;
  const double ring_step = std::max((nvlink ? ring.nvlink : ring.pci)[2], 3.0);
  const double tree_step = (nvlink ? tree.nvlink : tree.pci)[2];
  const double ring_latency =
      1.4 * (ring.base[2] + (2 * f.ranks - 4) * ring_step + 2 * ring.net[2]);
  const double tree_latency = tree.base[2] + 2 * ((f.per_domain - 1) * tree_step + tree.net[2]);
  const double saved = std::max(0.0, ring_latency - tree_latency) * kUs;
  constexpr double kTreeRate = 0.5 * 0.92 * 0.8;  // of the bus rate
  return saved * std::min(f.inside, f.nic) / (1 / kTreeRate - 2 * (f.ranks - 1) / f.ranks);
}

}  // namespace

Fabric make_fabric(const CollectiveGroup& group, const NcclRelease& release) {
  PACELINE_CHECK(group.domains == 1 || group.network != nullptr);
  PACELINE_CHECK(group.per_domain == 1 || group.intra != nullptr);
  Fabric f;
  f.ranks = group.ranks;
  f.domains = group.domains;
  f.per_domain = group.per_domain;
  f.inside = f.nic = kInfinite;
  f.generation = &nccl_generation(group.generation);
  f.ll_max = ll_max_rate(*f.generation, release, group.domains, group.host) * kGB;
  f.ll128 = true;
  for (std::size_t p = 0; p < 3; ++p) f.base[p] = kRingBase[p] * kUs;
  if (group.network != nullptr) set_network(f, group);
  if (group.domains == 1) f.nic = kInfinite;
  if (group.per_domain > 1) set_inside(f, group, release);
  f.tree_limit = tree_limit(f, group, release);
  return f;
}

Timing ring_time(CollectiveOp op, CollectiveProtocol p, double bytes, const Fabric& f) {
  const Steps s = ring_steps(op, f);
  const double latency =
      f.base[index(p)] + (s.all - s.across) * f.step[index(p)] + s.across * f.hop[index(p)];
  double rate = ring_rate(p, f);
  if (op == CollectiveOp::ReduceScatter) rate *= 1 - kReduceScatterLoss / (f.ranks * f.ranks);
  return {latency + bytes * s.traffic / rate, latency};
}

Timing tree_time(CollectiveProtocol p, double bytes, const Fabric& f) {
  const std::size_t i = index(p);
  const double latency =
      f.base[i] + (p == CollectiveProtocol::LL ? kTreeOverRing * kUs : 0) +
      2 * ((f.per_domain - 1) * f.tree_step[i] + log2_floor(f.domains) * f.hop[i]);
  const double share = p == CollectiveProtocol::LL      ? 0.5
                       : p == CollectiveProtocol::LL128 ? kLL128
                                                        : 1;
  // Two nodes exchange the array once; inner nodes of a larger tree receive it twice.
  const double across = f.nic * share / (f.domains > 2 ? 2 : 1);
  const double rate = std::min(tree_rate_inside(p, f), across) * tree_correction(p, bytes);
  return {latency + bytes / rate, latency};
}

Timing nvls_time(double bytes, const Fabric& f, double cap) {
  const double latency = kNvlsBase * kUs;
  const double fills = kNvlsFill + (cap < kInfinite ? kNvlsTreeFill : 0);
  return {latency + nvls_stream(bytes, fills, cap, f), latency};
}

Timing nvls_tree_time(double bytes, const Fabric& f) {
  const double depth = log2_floor(f.domains);
  const double latency = kNvlsBase * kUs + 2 * depth * f.hop[index(CollectiveProtocol::Simple)];
  const double fills = kNvlsFill + kNvlsTreeFill * std::log2(f.domains);
  return {latency + nvls_stream(bytes, fills, f.nic / (f.domains > 2 ? 2 : 1), f), latency};
}

Timing pat_time(CollectiveOp op, double bytes, const Fabric& f) {
  const std::size_t i = index(CollectiveProtocol::Simple);
  const double latency = f.base[i] + std::ceil(std::log2(f.ranks) - 1e-9) * f.hop[i];
  double rate = 0.75 * f.nic;
  if (op == CollectiveOp::ReduceScatter) rate *= 1 - kReduceScatterLoss / (f.ranks * f.ranks);
  return {latency + bytes * (f.ranks - 1) / f.ranks / rate, latency};
}

Timing send_time(double bytes, const Fabric& f) {
  // One hop of LL up to 16 KiB, which carries half data at half rate; above, Simple, whose start
  // and stream overlap in part (a power mean fits the published 8xB200 sendrecv curve, 1 KB to 256
  // MB).
  constexpr double kSmall = 16 * 1024;
  const bool across = f.domains > 1;
  if (across && f.wan) return {f.hop[0] + bytes / (f.nic / f.per_domain), f.hop[0]};
  const double hop = across ? f.hop[0] + 2.0 * kUs : f.step[0];
  const double rate = across ? 0.866 * f.nic / f.per_domain : 0.90 * f.inside;
  const double latency = kRingBase[0] * kUs + hop;
  const double start = latency + (across ? 12.5 : 3.0) * kUs;
  const double stream = bytes / rate;
  const double large = std::pow(start * std::sqrt(start) + stream * std::sqrt(stream), 2.0 / 3.0);
  const double time = bytes <= kSmall ? std::min(latency + 4 * stream, large) : large;
  return {time, latency};
}

Timing all_to_all_time(double bytes, const Fabric& f) {
  const double latency = (10.0 + (f.domains > 1 ? 2.5 * f.ranks : 0.0)) * kUs;
  const double share = f.generation->name == "blackwell" ? 0.79 : 0.90;
  const double near = bytes * (f.per_domain - 1) / f.ranks / (share * f.inside);
  const double far = bytes * (f.ranks - f.per_domain) / f.ranks / (0.99 * f.nic / f.per_domain);
  return {latency + std::max(near, far), latency};
}

}  // namespace paceline::models::detail
