// SPDX-License-Identifier: Apache-2.0
#include "models/cost/collective.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "models/cost/collective_table.hpp"
#include "models/cost/collnet.hpp"
#include "models/cost/nccl_tuner.hpp"
#include "models/cost/white_box.hpp"

namespace paceline::models {
namespace {

using detail::Fabric;
using detail::Timing;

void consider(CollectiveChoice& best, const Timing& t, CollectiveAlgorithm a,
              CollectiveProtocol p) {
  if (best.time.value > 0 && t.time >= best.time.value) return;
  best = {base::Seconds(t.time), a, p, base::Seconds(t.latency), false};
}

bool allowed(unsigned mask, unsigned bit) { return (mask >> bit & 1u) != 0; }

bool allowed(const CollectiveGroup& group, CollectiveAlgorithm a) {
  return allowed(group.algorithms, static_cast<unsigned>(a));
}
bool allowed(const CollectiveGroup& group, CollectiveProtocol p) {
  return allowed(group.protocols, static_cast<unsigned>(p));
}

/// The candidates that know one protocol only.
void consider_simple(CollectiveChoice& best, CollectiveOp op, double bytes,
                     const CollectiveGroup& group, const NcclRelease& release, const Fabric& f) {
  using A = CollectiveAlgorithm;
  constexpr auto kSimple = CollectiveProtocol::Simple;
  if (!allowed(group, kSimple)) return;
  if (op == CollectiveOp::AllReduce && f.nvls > 0) {
    if (group.domains == 1 && allowed(group, A::Nvls))
      consider(best, detail::nvls_time(bytes, f), A::Nvls, kSimple);
    if (group.domains > 1 && release.nvls_tree_net > 0 && allowed(group, A::NvlsTree))
      consider(best, detail::nvls_tree_time(bytes, f), A::NvlsTree, kSimple);
    if (collnet_runs(op, A::Nvls, group, release) && allowed(group, A::Nvls))
      consider(best, detail::nvls_collnet_time(bytes, f), A::Nvls, kSimple);
  }
  for (const A a : {A::CollNetDirect, A::CollNetChain})
    if (allowed(group, a) && collnet_runs(op, a, group, release))
      consider(best, detail::collnet_time(op, a, bytes, f), a, kSimple);
  const bool gathers = op == CollectiveOp::AllGather || op == CollectiveOp::ReduceScatter;
  if (gathers && release.pat && group.domains > 1 && group.per_domain == 1 &&
      allowed(group, A::Pat))
    consider(best, detail::pat_time(op, bytes, f), A::Pat, kSimple);
}

/// What the phases of a hierarchical collective may run: the other algorithms the user allows, all
/// when there is none.
unsigned phase_algorithms(const CollectiveGroup& group) {
  const unsigned rest = group.algorithms & kNcclAlgorithms;
  return rest != 0 ? rest : kNcclAlgorithms;
}

/// The group inside one domain, and one of the groups that join equal members of all domains. The
/// latter all send at the same time.
CollectiveGroup inner_group(const CollectiveGroup& group) {
  CollectiveGroup g = group;
  g.ranks = group.per_domain;
  g.domains = 1;
  g.network = nullptr;
  g.algorithms = phase_algorithms(group);
  return g;
}
CollectiveGroup outer_group(const CollectiveGroup& group) {
  CollectiveGroup g = group;
  g.ranks = group.domains;
  g.per_domain = 1;
  g.intra = nullptr;
  g.domain_devices = 0;
  g.sharers *= group.per_domain;
  g.tree_sharers *= group.per_domain;
  g.algorithms = phase_algorithms(group);
  return g;
}

/// Inside the domains and between them, one after the other. Only gathers, scatters and what they
/// make up; a broadcast goes between the domains first, a reduction last.
void consider_hierarchical(CollectiveChoice& best, CollectiveOp op, double bytes,
                           const CollectiveGroup& group, const NcclRelease& release) {
  if (group.domains < 2 || group.per_domain < 2) return;
  const CollectiveGroup inner = inner_group(group), outer = outer_group(group);
  const auto one = [&](CollectiveOp part, double size, const CollectiveGroup& g) {
    return white_box_time(part, base::Bytes(size), g, release);
  };
  const double shard = bytes / group.per_domain;
  Timing t;
  CollectiveProtocol protocol = CollectiveProtocol::Simple;
  const auto add = [&](const CollectiveChoice& c) {
    t.time += c.time.value;
    t.latency += c.latency.value;
    protocol = c.protocol;
  };
  switch (op) {
    case CollectiveOp::AllReduce:
      add(one(CollectiveOp::ReduceScatter, bytes, inner));
      add(one(CollectiveOp::AllGather, bytes, inner));
      add(one(op, shard, outer));
      break;
    case CollectiveOp::AllGather:
    case CollectiveOp::ReduceScatter:
      add(one(op, bytes, inner));
      add(one(op, shard, outer));
      break;
    case CollectiveOp::Broadcast:
    case CollectiveOp::Reduce:
      add(one(op, bytes, inner));
      add(one(op, bytes, outer));
      break;
    case CollectiveOp::AllToAll:
    case CollectiveOp::SendRecv:
      return;
  }
  consider(best, t, CollectiveAlgorithm::Hierarchical, protocol);
}

CollectiveChoice fastest(CollectiveOp op, double bytes, const CollectiveGroup& group,
                         const NcclRelease& release, const Fabric& f) {
  using A = CollectiveAlgorithm;
  using P = CollectiveProtocol;
  CollectiveChoice best;
  consider_simple(best, op, bytes, group, release, f);
  const bool tree =
      op == CollectiveOp::AllReduce && allowed(group, A::Tree) && bytes <= f.tree_limit;
  const bool ring = allowed(group, A::Ring);
  for (const P p : {P::LL, P::LL128, P::Simple}) {
    if (!allowed(group, p) || (p == P::LL128 && !f.ll128)) continue;
    if (ring) consider(best, detail::ring_time(op, p, bytes, f), A::Ring, p);
    if (tree) consider(best, detail::tree_time(p, bytes, f), A::Tree, p);
  }
  if (allowed(group, A::Hierarchical)) consider_hierarchical(best, op, bytes, group, release);
  if (best.time.value <= 0)
    consider(best, detail::ring_time(op, P::Simple, bytes, f), A::Ring, P::Simple);
  return best;
}

/// What NCCL's own table chooses, timed by the white box.
CollectiveChoice tuned_time(CollectiveOp op, base::Bytes size, const CollectiveGroup& group,
                            const NcclRelease& release) {
  const CollectiveChoice choice = nccl_choice(op, size, group, release);
  CollectiveGroup only = group;
  only.tuner = false;
  only.algorithms = 1u << static_cast<unsigned>(choice.algorithm);
  only.protocols = 1u << static_cast<unsigned>(choice.protocol);
  return white_box_time(op, size, only, release);
}

/// The curve that speaks for the group; null when the white box stands alone.
const CollectiveCurve* measured_curve(CollectiveOp op, const CollectiveGroup& group,
                                      const NcclRelease& release) {
  // The user's own log was measured with the user's own settings.
  if (group.logs != nullptr)
    if (const CollectiveCurve* own = group.logs->find(op, group.ranks)) return own;
  if (group.table == nullptr || group.domains != 1) return nullptr;
  const CollectiveCurve* curve = group.table->find(op, group.ranks);
  // A curve of in-switch reductions says nothing about a release that has none, and no curve about
  // a protocol the user chose.
  const bool settings = curve != nullptr && allowed(group, curve->algorithm) &&
                        group.protocols == ~0u && !group.tuner;
  if (!settings) return nullptr;
  return curve->algorithm != CollectiveAlgorithm::Nvls || release.nvls_step > 0 ? curve : nullptr;
}

}  // namespace

std::string_view to_text(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::AllReduce:
      return "all_reduce";
    case CollectiveOp::AllGather:
      return "all_gather";
    case CollectiveOp::ReduceScatter:
      return "reduce_scatter";
    case CollectiveOp::AllToAll:
      return "all_to_all";
    case CollectiveOp::Broadcast:
      return "broadcast";
    case CollectiveOp::SendRecv:
      return "send_recv";
    case CollectiveOp::Reduce:
      return "reduce";
  }
  return "";
}

std::optional<CollectiveOp> collective_named(std::string_view name) {
  for (int i = 0; i < kCollectiveOps; ++i)
    if (to_text(static_cast<CollectiveOp>(i)) == name) return static_cast<CollectiveOp>(i);
  return std::nullopt;
}

CollectiveChoice white_box_time(CollectiveOp op, base::Bytes size, const CollectiveGroup& group,
                                const NcclRelease& release) {
  if (group.ranks <= 1 || size.value <= 0) return {};
  if (group.tuner && op <= CollectiveOp::ReduceScatter) return tuned_time(op, size, group, release);
  const Fabric f = detail::make_fabric(group, release);
  switch (op) {
    case CollectiveOp::AllToAll:
    case CollectiveOp::SendRecv: {
      const Timing t = op == CollectiveOp::SendRecv ? detail::send_time(size.value, f)
                                                    : detail::all_to_all_time(size.value, f);
      return {base::Seconds(t.time), CollectiveAlgorithm::Direct, CollectiveProtocol::Simple,
              base::Seconds(t.latency), false};
    }
    case CollectiveOp::AllReduce:
    case CollectiveOp::AllGather:
    case CollectiveOp::ReduceScatter:
    case CollectiveOp::Broadcast:
    case CollectiveOp::Reduce:
      break;
  }
  return fastest(op, size.value, group, release, f);
}

CollectiveChoice collective_time(CollectiveOp op, base::Bytes size, const CollectiveGroup& group,
                                 const NcclRelease& release) {
  if (group.ranks <= 1 || size.value <= 0) return {};
  if (const CollectiveCurve* curve = measured_curve(op, group, release))
    return table_time(*curve, size, group, release);
  return white_box_time(op, size, group, release);
}

CollectiveChoice all_to_all_v_time(std::span<const double> bytes, const CollectiveGroup& group,
                                   const NcclRelease& release) {
  const auto n = static_cast<std::size_t>(group.ranks);
  PACELINE_CHECK(group.ranks >= 1 && bytes.size() == n * n);
  double busiest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double sent = 0, received = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (i == j) continue;
      sent += bytes[i * n + j];
      received += bytes[j * n + i];
    }
    busiest = std::max({busiest, sent, received});
  }
  // An array of n shares, the own one included, moves n - 1 of them.
  const double size = n > 1 ? busiest * group.ranks / (group.ranks - 1) : 0;
  return collective_time(CollectiveOp::AllToAll, base::Bytes(size), group, release);
}

CollectiveChoice two_step_time(base::Bytes across, base::Bytes inside, const CollectiveGroup& group,
                               const NcclRelease& release) {
  CollectiveGroup network = group, domain = group;
  network.ranks = group.domains;
  network.per_domain = 1;
  // Members of the domain are siblings of each other now.
  network.sharers = group.sharers * group.per_domain;
  network.table = nullptr;
  domain.ranks = group.per_domain;
  domain.domains = 1;
  network.logs = domain.logs = nullptr;
  const auto over = [&](const CollectiveGroup& g, base::Bytes sent) {
    if (g.ranks <= 1) return CollectiveChoice{};
    // An array of n shares, the own one included, moves n - 1 of them.
    return white_box_time(CollectiveOp::AllToAll, sent * (g.ranks / (g.ranks - 1.0)), g, release);
  };
  const CollectiveChoice far = over(network, across), near = over(domain, inside);
  return far.time > near.time ? far : near;
}

std::string_view unclaimed_link(const CollectiveGroup& group) {
  if (group.ranks <= 1) return "";
  const bool across = group.domains > 1 && group.network != nullptr;
  if (across && !group.network->claim) return group.network->name;
  if (group.per_domain > 1 && group.intra != nullptr) {
    if (!group.intra->claim) return group.intra->name;
    constexpr int kNodeDevices = 16;  // larger NVLink domains span nodes
    if (across && group.domain_devices > kNodeDevices) return group.network->name;
  }
  return "";
}

LinkBytes bytes_by_link(CollectiveOp op, CollectiveAlgorithm algorithm, base::Bytes size,
                        int domains, int per_domain) {
  using A = CollectiveAlgorithm;
  const double big_n = domains, g = per_domain, n = big_n * g;
  if (n <= 1) return {};
  const bool reduce = op == CollectiveOp::AllReduce;
  if (op == CollectiveOp::SendRecv)
    return domains > 1 ? LinkBytes{base::Bytes(0), size} : LinkBytes{size, base::Bytes(0)};
  if (op == CollectiveOp::AllToAll) return {size * ((g - 1) / n), size * ((n - g) / n)};
  if (op == CollectiveOp::Broadcast || op == CollectiveOp::Reduce)
    return {size * ((n - big_n) / n), size * ((big_n - 1) / n)};
  const double passes = reduce ? 2 : 1;
  if (algorithm == A::Hierarchical)
    return {size * (passes * (g - 1) / g), size * (passes / g * (big_n - 1) / big_n)};
  if (algorithm == A::CollNetDirect || algorithm == A::CollNetChain)
    return {size * (passes * (g - 1) / g), size * (op == CollectiveOp::AllGather ? 1 / n : 1 / g)};
  if (reduce && reduces_in_network(algorithm, domains)) return {size * (1 + 1 / g), size * (1 / g)};
  if (reduce && (algorithm == A::Nvls || algorithm == A::NvlsTree))
    return {size * (1 + 1 / g), size * (2 * (big_n - 1) / n)};
  if (reduce && algorithm == A::Tree)
    return {size * (2 * (n - big_n) / n), size * (2 * (big_n - 1) / n)};
  const double sent = passes * (n - 1) / n, leaving = domains > 1 ? big_n / n : 0;
  return {size * (sent * (1 - leaving)), size * (sent * leaving)};
}

base::Bytes bytes_sent_per_rank(CollectiveOp op, base::Bytes size, int ranks) {
  if (ranks <= 1) return base::Bytes(0);
  const double others = (ranks - 1.0) / ranks;
  switch (op) {
    case CollectiveOp::AllReduce:
      return size * (2 * others);
    case CollectiveOp::AllGather:
    case CollectiveOp::ReduceScatter:
    case CollectiveOp::AllToAll:
    case CollectiveOp::Broadcast:
    case CollectiveOp::Reduce:
      return size * others;
    case CollectiveOp::SendRecv:
      return size;
  }
  return size;
}

}  // namespace paceline::models
