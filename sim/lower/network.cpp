// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/network.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "models/cost/collnet.hpp"
#include "models/hardware/fabric.hpp"
#include "models/parallel/axes.hpp"
#include "sim/engine/graph_order.hpp"
#include "sim/lower/chunks.hpp"
#include "sim/lower/rings.hpp"
#include "sim/lower/shared_wires.hpp"
#include "sim/lower/switch_flows.hpp"

namespace paceline::sim {
namespace {

using models::Axis;
using models::Cluster;
using models::CollectiveAlgorithm;
using models::CollectiveOp;
using models::Fabric;

void add_route(Load& load, const Fabric& fabric, int from, int to, std::uint32_t flows) {
  if (from == to || flows == 0) return;
  for (const int wire : models::route(fabric, from, to)) load[wire] += flows;
}

/// Flows of one group's collective, or those that leave its member `only`; each carries
/// bytes_leaving over the members of a domain.
Load ring_load(const Fabric& fabric, const Cluster& cluster, const std::vector<int>& members,
               int only = -1) {
  Load load;
  for (const RingHop& hop : ring_hops(cluster, members)) {
    if (only < 0 || hop.from == only) add_route(load, fabric, hop.from, hop.to, hop.flows);
  }
  return load;
}

/// Bytes that leave a domain of the group, or a member where there is only one domain.
double bytes_leaving(const NetworkTask& task, int ranks, std::size_t domains) {
  const bool tree = task.algorithm == CollectiveAlgorithm::Tree ||
                    task.algorithm == CollectiveAlgorithm::NvlsTree;
  if (tree && domains > 1) return domains == 2 ? task.size : 2 * task.size;
  if (task.algorithm == CollectiveAlgorithm::Nvls) return task.size * (1 + 1.0 / ranks);
  return models::bytes_sent_per_rank(task.op, base::Bytes(task.size), ranks).value;
}

bool in_switches(const NetworkTask& task, std::size_t domains) {
  return models::reduces_in_network(task.algorithm, static_cast<int>(domains));
}

class Attacher {
 public:
  Attacher(TaskGraph& graph, const models::Scenario& scenario, const models::Plan& plan,
           int replicas)
      : graph_(graph), cluster_(scenario.cluster), mesh_(plan.meshes.front()) {
    std::vector<int> nodes;
    for (int device = 0; device < plan.world_size; ++device) {
      const int node = cluster_.place_of(device).node;
      if (nodes.empty() || nodes.back() != node) nodes.push_back(node);
    }
    fabric_ = models::make_fabric(cluster_, nodes);
    // A folded lane stands for all replicas, one of an unfolded graph for its own.
    if (replicas == 1) {
      for (int k = 0; k < plan.members_per_lane; ++k) {
        offsets_.push_back(models::replica_offset(mesh_, k));
      }
    }
  }

  void attach(const NetworkTask& task) {
    const Task& t = graph_.tasks[task.task];
    const Key key{t.lane, t.segment, task.from, task.to, task.member, task.axes};
    auto [found, fresh] = known_.try_emplace(key, Known{});
    if (fresh) {
      found->second.switches = switch_latency(task, t);
      found->second.transfer = make_transfer(task, t, found->second.switches);
    }
    const std::uint32_t transfer = found->second.transfer;
    transfer_of_[task.task] = transfer;
    graph_.tasks[task.task].seconds += found->second.switches;
    if (transfer != kNoTransfer) streams_[transfer].insert(stream_of(task, t));
  }

  /// `transfer_of_` is sized first.
  void run(const std::vector<NetworkTask>& tasks) {
    transfer_of_.assign(graph_.tasks.size(), kNoTransfer);
    for (const NetworkTask& task : tasks) attach(task);
    keep_shared(graph_, fabric_, streams_, std::move(loads_), std::move(transfers_), transfer_of_);
  }

 private:
  using Key = std::tuple<std::uint32_t, std::uint16_t, int, int, int, const std::vector<Axis>*>;

  /// Tasks with the same number never run together. Steps of a member that is not the lane's own
  /// are on no stream, but one after another.
  std::size_t stream_of(const NetworkTask& task, const Task& t) const {
    if (t.stream != Stream::None) return stream_slot(t);
    return graph_.lanes.size() * kStreams + t.lane * std::size_t{kMaxChunkMembers} +
           static_cast<std::size_t>(task.member);
  }

  struct Known {
    std::uint32_t transfer = kNoTransfer;
    double switches = 0;  ///< seconds
  };

  /// Seconds that the wires between switches add on one way: the closed forms do not know them.
  double switch_latency(int from, int to) const {
    const auto between = [&](int vertex) {
      const models::VertexKind kind = kind_of(vertex);
      return kind == models::VertexKind::Switch || kind == models::VertexKind::Router;
    };
    double seconds = 0;
    for (const int w : from == to ? std::vector<int>{} : models::route(fabric_, from, to)) {
      const models::Wire& wire = fabric_.wires[static_cast<std::size_t>(w)];
      if (between(wire.from) && between(wire.to)) seconds += wire.latency.value;
    }
    return seconds;
  }

  /// Of a task: the worst way of its messages, as often as a chunk crosses between domains one
  /// after another (once around a ring, twice to reduce and to gather; up and down a tree).
  double switch_latency(const NetworkTask& task, const Task& t) const {
    const int representative = graph_.lanes[t.lane].representative;
    double worst = 0;
    if (task.axes == nullptr) {
      for (const int offset : members(t)) {
        worst = std::max(worst, switch_latency(offset + task.from, offset + task.to));
      }
      return worst;
    }
    std::vector<int> doors;  // the first member of each domain
    for (const int device : members_of(representative, *task.axes)) {
      if (doors.empty() || domain_of(cluster_, device) != domain_of(cluster_, doors.back())) {
        doors.push_back(device);
      }
    }
    for (std::size_t i = 0; i < doors.size(); ++i) {
      worst = std::max(worst, switch_latency(doors[i], doors[(i + 1) % doors.size()]));
    }
    if (task.member >= 0 || task.steps > 1 || in_switches(task, doors.size())) return worst;
    const double n = static_cast<double>(doors.size());
    const bool tree = task.algorithm == CollectiveAlgorithm::Tree ||
                      task.algorithm == CollectiveAlgorithm::NvlsTree;
    const double once = tree ? std::floor(std::log2(n)) : n - 1;
    return worst * once * (task.op == CollectiveOp::AllReduce ? 2 : 1);
  }

  std::uint32_t make_transfer(const NetworkTask& task, const Task& t, double switches) {
    if (task.fluid <= 0 || task.size <= 0) return kNoTransfer;
    Transfer transfer;
    transfer.latency = t.seconds - task.fluid + switches;
    Load load = task.axes != nullptr ? collective(task, t, transfer) : message(task, t, transfer);
    if (load.empty()) return kNoTransfer;
    transfer.rate = transfer.bytes / task.fluid;
    for (const auto& [wire, flows] : load) {
      const double cap = fabric_.wires[static_cast<std::size_t>(wire)].cap_per_flow;
      if (cap > 0) transfer.rate = std::min(transfer.rate, cap);
    }
    transfer.rate *= widening(load);
    transfers_.push_back(transfer);
    loads_.push_back(std::move(load));
    streams_.emplace_back();
    return static_cast<std::uint32_t>(transfers_.size() - 1);
  }

  /// How much wider than it starts a wire of the load becomes: the closed form's rate knows only
  /// the start, and the other wires hold their own.
  double widening(const Load& load) const {
    double most = 1;
    for (const auto& [w, flows] : load) {
      const models::Wire& wire = fabric_.wires[static_cast<std::size_t>(w)];
      for (const models::RateChange& change : wire.changes) {
        most = std::max(most, change.bandwidth.value / wire.bandwidth.value);
      }
    }
    return most;
  }

  /// Device offsets of the replicas a lane stands for.
  std::vector<int> members(const Task& t) const {
    if (!offsets_.empty()) return offsets_;
    const int pp = mesh_.axis("pp").size;
    return {models::replica_offset(mesh_, static_cast<int>(t.lane) / pp)};
  }

  Load message(const NetworkTask& task, const Task& t, Transfer& transfer) {
    transfer.bytes = models::bytes_sent_per_rank(task.op, base::Bytes(task.size), 2).value;
    Load load, alone;
    for (const int offset : members(t)) {
      add_route(load, fabric_, offset + task.from, offset + task.to, 1);
      if (alone.empty()) alone = load;
    }
    limit(transfer, task.fluid, alone);
    return load;
  }

  /// Flows of one group's collective, or those of its member `only`.
  Load group_load(const NetworkTask& task, const std::vector<int>& group, int only = -1) const {
    const bool several = domain_of(cluster_, group.front()) != domain_of(cluster_, group.back());
    return in_switches(task, several ? 2 : 1)
               ? switch_load(fabric_, cluster_, group, task.op, task.algorithm, only)
               : ring_load(fabric_, cluster_, group, only);
  }

  Load collective(const NetworkTask& task, const Task& t, Transfer& transfer) {
    const int representative = graph_.lanes[t.lane].representative;
    const std::vector<int> own = members_of(representative, *task.axes);
    const Load whole = group_load(task, own);
    size_flow(task, own, whole, transfer);
    // The members of an unfolded group have a task each: what leaves this one.
    if (offsets_.empty()) return group_load(task, own, representative);
    Load load;
    for (const int offset : offsets_) {
      const int device = representative + offset;
      if (device != models::first_member(device, *task.axes)) continue;
      const std::vector<int> group = members_of(device, *task.axes);
      const int only = task.member < 0 ? -1 : group[static_cast<std::size_t>(task.member)];
      for (const auto& [wire, flows] : group_load(task, group, only)) {
        load[wire] += flows;
      }
    }
    return load;
  }

  void size_flow(const NetworkTask& task, const std::vector<int>& group, const Load& load,
                 Transfer& transfer) {
    std::map<int, int> in_domain;
    for (const int device : group) ++in_domain[domain_of(cluster_, device)];
    int smallest = in_domain.begin()->second;
    for (const auto& [domain, count] : in_domain) smallest = std::min(smallest, count);
    if (in_switches(task, in_domain.size())) {
      transfer.bytes =
          switch_flow(task.op, task.size, static_cast<int>(in_domain.size()), smallest);
      limit(transfer, task.fluid, load);
      return;
    }
    const double leaving = bytes_leaving(task, static_cast<int>(group.size()), in_domain.size());
    transfer.bytes = (in_domain.size() > 1 ? leaving / smallest : leaving) / task.steps;
    limit(transfer, task.fluid, load);
  }

  /// The closed form knows best how fast one group is alone inside a node: where its bytes would
  /// not fit through the wires to the device switch in that time (a measured table, an in-switch
  /// reduction), fewer are sent.
  void limit(Transfer& transfer, double fluid, const Load& load) const {
    for (const auto& [w, flows] : load) {
      const models::Wire& wire = fabric_.wires[static_cast<std::size_t>(w)];
      if (kind_of(wire.from) != models::VertexKind::DeviceSwitch &&
          kind_of(wire.to) != models::VertexKind::DeviceSwitch) {
        continue;
      }
      transfer.bytes = std::min(transfer.bytes, wire.bandwidth.value * fluid / flows);
    }
  }
  models::VertexKind kind_of(int vertex) const {
    return fabric_.vertices[static_cast<std::size_t>(vertex)].kind;
  }

  TaskGraph& graph_;
  const Cluster& cluster_;
  const models::Mesh& mesh_;
  Fabric fabric_;
  std::vector<int> offsets_;
  std::map<Key, Known> known_;
  std::vector<Transfer> transfers_;
  std::vector<Load> loads_;                     ///< by transfer
  std::vector<std::set<std::size_t>> streams_;  ///< by transfer
  std::vector<std::uint32_t> transfer_of_;
};

}  // namespace

void attach_network(TaskGraph& graph, const models::Scenario& scenario, const models::Plan& plan,
                    const std::vector<NetworkTask>& tasks, int replicas) {
  Attacher(graph, scenario, plan, replicas).run(tasks);
}

}  // namespace paceline::sim
