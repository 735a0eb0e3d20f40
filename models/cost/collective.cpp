// SPDX-License-Identifier: Apache-2.0
#include "models/cost/collective.hpp"

#include "models/cost/collective_table.hpp"
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
  }
  const bool gathers = op == CollectiveOp::AllGather || op == CollectiveOp::ReduceScatter;
  if (gathers && release.pat && group.domains > 1 && group.per_domain == 1 &&
      allowed(group, A::Pat))
    consider(best, detail::pat_time(op, bytes, f), A::Pat, kSimple);
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
  if (best.time.value <= 0)
    consider(best, detail::ring_time(op, P::Simple, bytes, f), A::Ring, P::Simple);
  return best;
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

CollectiveChoice white_box_time(CollectiveOp op, base::Bytes size, const CollectiveGroup& group,
                                const NcclRelease& release) {
  if (group.ranks <= 1 || size.value <= 0) return {};
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
  if (group.table != nullptr && group.domains == 1 && group.ranks > 1 && size.value > 0) {
    const CollectiveCurve* curve = group.table->find(op, group.ranks);
    // A curve of in-switch reductions says nothing about a release that has none, and no curve
    // about a protocol the user chose.
    if (curve != nullptr && allowed(group, curve->algorithm) && group.protocols == ~0u &&
        (curve->algorithm != CollectiveAlgorithm::Nvls || release.nvls_step > 0))
      return table_time(*curve, size, group, release);
  }
  return white_box_time(op, size, group, release);
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
