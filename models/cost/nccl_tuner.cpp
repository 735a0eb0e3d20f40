// SPDX-License-Identifier: Apache-2.0
#include "models/cost/nccl_tuner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/cost/collnet.hpp"

namespace paceline::models {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
constexpr double kPciShare = 0.76;  // NCCL takes 24 GB/s for PCIe 4.0 x16

/// A group as NCCL's tuner sees it: GB/s and microseconds.
struct View {
  const CollectiveGroup* group = nullptr;
  const NcclRelease* release = nullptr;
  const NcclGeneration* generation = nullptr;
  double ranks = 1, nodes = 1, local = 1;
  NcclChannels channels;
  bool nvlink = false;
  double net_latency = 0;  ///< of the network plugin, beyond InfiniBand's
  double bus() const { return channels.bus(); }
};

bool is_nvlink(const CollectiveGroup& g) {
  return g.intra != nullptr && g.intra->kind != LinkKind::Pcie;
}

View make_view(const CollectiveGroup& g, const NcclRelease& release) {
  View v{&g,
         &release,
         &nccl_generation(g.generation),
         double(g.ranks),
         double(g.domains),
         double(g.per_domain),
         {},
         is_nvlink(g),
         0};
  const bool across = g.domains > 1;
  if (g.per_domain == 1)
    v.channels = {1, g.ports / g.sharers * g.network->bandwidth.value / 1e9, 2};
  else if (!v.nvlink)
    v.channels = {1, kPciShare * g.intra->bandwidth.value / 1e9, 2};
  else
    v.channels =
        nccl_channels(*v.generation, g.intra->lanes, across ? static_cast<int>(g.ports) : 0,
                      across ? g.network->bandwidth : base::BytesPerSecond(0));
  // IB and socket transports report no latency of their own; AWS's plugin does.
  if (across && g.network->kind == LinkKind::Efa) v.net_latency = g.network->latency.value * 1e6;
  return v;
}

double ring_bus(CollectiveProtocol p, const View& v) {
  switch (p) {
    case CollectiveProtocol::LL:
      return std::min(ll_max_rate(*v.generation, *v.release, v.group->domains, v.group->host),
                      v.bus() / 2);
    case CollectiveProtocol::LL128:
      return std::min(0.92 * v.bus(), v.channels.graph * v.generation->ring_ll128_max);
    case CollectiveProtocol::Simple:
      return v.bus();
  }
  return v.bus();
}

double tree_bus(CollectiveProtocol p, const View& v) {
  const std::size_t many = v.nodes <= 2 ? static_cast<std::size_t>(v.nodes) - 1 : 2;
  switch (p) {
    case CollectiveProtocol::LL:
      return std::min(v.bus() / 3.8,
                      ll_max_rate(*v.generation, *v.release, v.group->domains, v.group->host));
    case CollectiveProtocol::LL128:
      return std::min(v.bus() * (v.nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0),
                      v.channels.graph * v.generation->tree_ll128_max[many]);
    case CollectiveProtocol::Simple:
      return std::min(0.92 * v.bus(), v.channels.graph * v.generation->tree_max[many]);
  }
  return v.bus();
}

double post_overhead(const View& v, CollectiveProtocol p) {
  if (v.nodes == 1) return 0;
  return (v.group->host == "amd" ? 2.0 : 1.0) * (p == CollectiveProtocol::Simple ? 3 : 1);
}

double ring_us(CollectiveOp op, CollectiveProtocol p, double bytes, const View& v) {
  const auto i = static_cast<std::size_t>(p);
  const AlgorithmLatency& l = v.release->ring;
  const double passes = op == CollectiveOp::AllReduce ? 2 : 1;
  const double steps = passes * (v.ranks - 1);
  const double across = v.nodes > 1 ? passes * (v.nodes - 1) : 0;
  const double plugin = v.net_latency * (p == CollectiveProtocol::Simple ? 2 : 1);
  const double step = std::max((v.nvlink ? l.nvlink : l.pci)[i], post_overhead(v, p));
  double latency = l.base[i] + (steps - across) * step + across * (l.net[i] + plugin);
  const bool large = bytes / (v.channels.graph * v.ranks) >= 64;
  if (op == CollectiveOp::AllReduce && p == CollectiveProtocol::Simple && v.nodes > 1 && large)
    latency *= v.generation->name == "volta" || v.generation->name == "turing" ? 1.9 : 1.4;
  return latency + bytes * steps / v.ranks / (ring_bus(p, v) * 1e3);
}

double tree_us(CollectiveProtocol p, double bytes, const View& v) {
  const auto i = static_cast<std::size_t>(p);
  const AlgorithmLatency& l = v.release->tree;
  const double plugin = v.net_latency * (p == CollectiveProtocol::Simple ? 2 : 1);
  const double latency = l.base[i] + 2 * ((v.local - 1) * (v.nvlink ? l.nvlink : l.pci)[i] +
                                          std::floor(std::log2(v.nodes)) * (l.net[i] + plugin));
  return latency + bytes / (0.5 * tree_bus(p, v) * tree_correction(p, bytes) * 1e3);
}

double nvls_us(double bytes, const View& v) {
  const double channels = v.generation->nvls_channels;
  // Two reductions in flight; over the network (CollNet) its own rate bounds each channel.
  const double share = v.generation->nvls_efficiency * (channels - 1) / channels * 2;
  const double bus = v.bus() * (v.nodes > 1 ? std::min(1.0, share) : share);
  const double across = v.nodes > 1 ? kNvlsNetUs + 2 * v.net_latency : 0;
  return v.release->nvls_step + across + bytes * 2 * (v.ranks - 1) / v.ranks / (bus * 1e3);
}

/// AllReduce loses where GPUs share a port, and on Hopper; gathers and scatters know no more than
/// the ports.
double collnet_us(CollectiveOp op, CollectiveAlgorithm a, double bytes, const View& v) {
  const double latency = collnet_latency_us(a, v.local) + 2 * v.net_latency;
  double rate = 0.5 * v.bus();
  if (op != CollectiveOp::AllReduce) {
    rate = 0.9 * v.bus();
  } else if (a == CollectiveAlgorithm::CollNetDirect) {
    const double shared = v.local / collnet_heads(*v.group);
    rate /= shared - (shared - 1) / 2;
    if (v.generation->nvls_channels > 0) rate *= 0.85;
  }
  return latency + bytes / (rate * 1e3);
}

double nvls_tree_us(double bytes, const View& v) {
  const double most = v.generation->nvls_tree_max[v.nodes == 2 ? 0 : 1];
  const double rate = std::min(v.channels.rate * (v.nodes == 2 ? 2 : 1), most);
  const double latency = v.release->nvls_step + 2 * std::floor(std::log2(v.nodes)) *
                                                    (v.release->nvls_tree_net + 2 * v.net_latency);
  return latency + bytes * 2 * (v.ranks - 1) / v.ranks / (v.channels.graph * rate * 1e3);
}

bool can_run(CollectiveOp op, CollectiveAlgorithm a, CollectiveProtocol p, const View& v) {
  const bool reduce = op == CollectiveOp::AllReduce;
  const bool simple = p == CollectiveProtocol::Simple;
  if (p == CollectiveProtocol::LL128 && v.local > 1 && !v.nvlink) return false;
  const bool nvls = reduce && simple && v.group->intra != nullptr && v.group->intra->multicast &&
                    v.generation->nvls_channels > 0 && v.release->nvls_step > 0;
  switch (a) {
    case CollectiveAlgorithm::Ring:
      return true;
    case CollectiveAlgorithm::Tree:
      return reduce;
    case CollectiveAlgorithm::Nvls:
      return nvls && v.local > 2 && (v.nodes == 1 || collnet_runs(op, a, *v.group, *v.release));
    case CollectiveAlgorithm::NvlsTree:
      return nvls && v.nodes > 1 && v.release->nvls_tree_net > 0;
    case CollectiveAlgorithm::CollNetDirect:
    case CollectiveAlgorithm::CollNetChain:
      return simple && collnet_runs(op, a, *v.group, *v.release);
    case CollectiveAlgorithm::Pat:
    case CollectiveAlgorithm::Direct:
    case CollectiveAlgorithm::Hierarchical:
      return false;
  }
  return false;
}

}  // namespace

base::Seconds nccl_estimate(CollectiveOp op, CollectiveAlgorithm algorithm,
                            CollectiveProtocol protocol, base::Bytes size,
                            const CollectiveGroup& group, const NcclRelease& release) {
  const View v = make_view(group, release);
  if (!can_run(op, algorithm, protocol, v)) return base::Seconds(kInfinite);
  double us = kInfinite;
  switch (algorithm) {
    case CollectiveAlgorithm::Ring:
      us = ring_us(op, protocol, size.value, v);
      break;
    case CollectiveAlgorithm::Tree:
      us = tree_us(protocol, size.value, v);
      break;
    case CollectiveAlgorithm::Nvls:
      us = nvls_us(size.value, v);
      break;
    case CollectiveAlgorithm::NvlsTree:
      us = nvls_tree_us(size.value, v);
      break;
    case CollectiveAlgorithm::CollNetDirect:
    case CollectiveAlgorithm::CollNetChain:
      us = collnet_us(op, algorithm, size.value, v);
      break;
    case CollectiveAlgorithm::Pat:
    case CollectiveAlgorithm::Direct:
    case CollectiveAlgorithm::Hierarchical:
      break;
  }
  return base::Seconds(us * 1e-6);
}

CollectiveChoice nccl_choice(CollectiveOp op, base::Bytes size, const CollectiveGroup& group,
                             const NcclRelease& release) {
  using A = CollectiveAlgorithm;
  using P = CollectiveProtocol;
  CollectiveChoice best;
  if (group.ranks <= 1 || size.value <= 0) return best;
  best.time = base::Seconds(kInfinite);
  const auto allowed = [](unsigned mask, auto bit) {
    return (mask >> static_cast<unsigned>(bit) & 1u) != 0;
  };
  for (const A a : {A::Ring, A::Tree, A::Nvls, A::NvlsTree, A::CollNetDirect, A::CollNetChain})
    for (const P p : {P::LL, P::LL128, P::Simple}) {
      if (!allowed(group.algorithms, a) || !allowed(group.protocols, p)) continue;
      const base::Seconds t = nccl_estimate(op, a, p, size, group, release);
      if (t < best.time)
        best = {t, a, p, nccl_estimate(op, a, p, base::Bytes(1), group, release), false};
    }
  if (best.time.value == kInfinite)  // nothing allowed can run: NCCL falls back to this
    best = {
        nccl_estimate(op, A::Ring, P::Simple, size, group, release), A::Ring, P::Simple, {}, false};
  return best;
}

}  // namespace paceline::models
