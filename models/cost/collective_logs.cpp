// SPDX-License-Identifier: Apache-2.0
#include "models/cost/collective_logs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"

namespace paceline::models {
namespace {

std::vector<CurvePoint> points_of(const NcclLog& log) {
  std::vector<CurvePoint> points;
  for (const NcclLogRow& row : log.rows) points.push_back({row.size.value, row.out_of_place.value});
  return points;
}

bool gathers(CollectiveOp op) {
  return op == CollectiveOp::AllGather || op == CollectiveOp::ReduceScatter;
}
bool kindred(CollectiveOp a, CollectiveOp b, bool network) {
  if (a == b || (gathers(a) && gathers(b))) return true;
  const auto rings = [](CollectiveOp op) { return gathers(op) || op == CollectiveOp::AllReduce; };
  return !network && rings(a) && rings(b);
}

bool same_link(const Link* a, const Link* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->name == b->name;
}

bool same_group(const CollectiveGroup& a, const CollectiveGroup& b) {
  return a.ranks == b.ranks && a.domains == b.domains && a.per_domain == b.per_domain &&
         a.ports == b.ports && a.sharers == b.sharers;
}

/// How far a log is from the group, infinite when it cannot stand in for it.
double distance(const MeasuredLog& m, CollectiveOp op, const CollectiveGroup& here,
                CollectiveAlgorithm algorithm) {
  const CollectiveGroup& there = m.group;
  const bool network = here.domains > 1;
  const double apart = std::abs(std::log2(static_cast<double>(here.ranks) / there.ranks));
  const bool stands_in =
      network == (there.domains > 1) && kindred(m.log.op, op, network) &&
      same_link(here.intra, there.intra) &&
      (!network || (same_link(here.network, there.network) && here.per_domain == there.per_domain));
  if (!stands_in || apart > 1) return HUGE_VAL;
  if (m.log.op == op && same_group(here, there)) return -1;
  return m.curve.algorithm == algorithm ? apart + (m.log.op == op ? 0 : 2) : HUGE_VAL;
}

void add_for(CollectiveTable& table, const CollectiveLogs& logs, CollectiveOp op,
             const CollectiveGroup& group, const NcclRelease& release) {
  const CollectiveAlgorithm algorithm = usual_algorithm(op, group, release);
  const MeasuredLog* best = nullptr;
  double least = HUGE_VAL;
  for (const MeasuredLog& m : logs.logs) {
    const double d = distance(m, op, group, algorithm);
    if (d >= least) continue;
    least = d;
    best = &m;
  }
  if (best == nullptr) return;
  add_curve(table,
            least < 0 ? best->curve : carry_over(best->curve, best->group, op, group, release));
}

}  // namespace

CollectiveGroup group_of_layout(const Cluster& cluster, const GroupLayout& layout) {
  CollectiveGroup group;
  group.ranks = layout.ranks;
  group.domains = layout.domains;
  group.per_domain = layout.ranks_per_domain;
  group.intra = layout.intra;
  group.network = layout.network;
  group.ports = layout.ports_per_domain();
  group.sharers = layout.network_share;
  const NodeGroup& node = cluster.groups.front();
  group.host = node.host;
  group.generation = node.device.generation;
  for (const Level& level : node.levels)
    if (&level.link == layout.intra) group.domain_devices = level.size;
  return group;
}

MeasuredLog place_log(NcclLog log, const Cluster& cluster, const CollectiveGroup& settings,
                      const NcclRelease& release, const std::string& where) {
  MeasuredLog m;
  auto machine = std::make_unique<Cluster>(cluster);
  machine->groups.resize(1);
  NodeGroup& node = machine->groups.front();
  const int nodes =
      log.nodes > 0 ? log.nodes : (cluster.devices() == node.devices_per_node ? 1 : 0);
  if (nodes == 0)
    throw base::Error(where, log.file + " does not say on how many nodes it ran", "say nodes: N");
  const int per_node = log.ranks / nodes;
  if (log.ranks % nodes != 0 || per_node > node.devices_per_node)
    throw base::Error(where, log.file + " is of " + std::to_string(log.ranks) + " ranks on " +
                                 std::to_string(nodes) + " nodes, this cluster has " +
                                 std::to_string(node.devices_per_node) + " devices a node");
  if (nodes > kMaxDevices / node.devices_per_node)
    throw base::Error(where, log.file + " is of more nodes than can be modelled");
  node.nodes = nodes;
  const bool joined =
      !node.levels.empty() && node.levels.back().size >= nodes * node.devices_per_node;
  if (nodes > 1 && node.ports_per_node == 0 && !joined)
    throw base::Error(where, log.file + " is of several nodes, this cluster has no network");
  m.cluster = std::move(machine);
  const std::array<Axis, 2> axes{{{1, per_node}, {node.devices_per_node, nodes}}};
  m.group = group_of_layout(*m.cluster, layout_of(*m.cluster, 0, axes));
  m.group.algorithms = settings.algorithms;
  m.group.protocols = settings.protocols;
  m.group.tuner = settings.tuner;
  m.curve = make_curve(log.op, log.ranks, usual_algorithm(log.op, m.group, release), log.file,
                       points_of(log));
  log.nodes = nodes;
  m.log = std::move(log);
  return m;
}

std::shared_ptr<const CollectiveTable> curves_for(const CollectiveLogs& logs,
                                                  const CollectiveGroup& group,
                                                  const NcclRelease& release) {
  if (group.ranks <= 1) return nullptr;
  const auto table = std::make_shared<CollectiveTable>();
  for (int i = 0; i < kCollectiveOps; ++i)
    add_for(*table, logs, static_cast<CollectiveOp>(i), group, release);
  return table->curves.empty() ? nullptr : table;
}

}  // namespace paceline::models
