// SPDX-License-Identifier: Apache-2.0
#include "sim/outer/wan.hpp"

#include <algorithm>
#include <cmath>

namespace paceline::sim {
namespace {

using models::OuterExchange;

/// Of the messages of one phase.
struct Flow {
  int worker = 0, other = -1;  ///< other: -1: the server
  int from = 0, to = 0;        ///< sites
  double bytes = 0;
};

struct PhaseTime {
  double seconds = 0, latency = 0;
};

PhaseTime carry(const Wan& wan, const std::vector<Flow>& flows, ExchangeCost& cost,
                double repeats = 1) {
  std::vector<double> load(wan.wires.size(), 0.0);
  std::vector<double> out(wan.worker_site.size(), 0.0), in(out);
  PhaseTime time;
  for (const Flow& flow : flows) {
    const WanWay& way = wan.way(flow.from, flow.to);
    for (const int wire : way.wires) load[static_cast<std::size_t>(wire)] += flow.bytes;
    out[static_cast<std::size_t>(flow.worker)] += flow.bytes;
    if (flow.other >= 0) in[static_cast<std::size_t>(flow.other)] += flow.bytes;
    if (way.cap > 0) time.seconds = std::max(time.seconds, flow.bytes / way.cap);
    time.latency = std::max(time.latency, way.latency);
    if (flow.from != flow.to) cost.egress += repeats * flow.bytes;
  }
  for (std::size_t i = 0; i < load.size(); ++i) {
    if (load[i] > 0) time.seconds = std::max(time.seconds, load[i] / wan.wires[i].rate);
    cost.carried[i] += repeats * load[i];
  }
  for (std::size_t w = 0; w < out.size(); ++w)
    time.seconds = std::max(time.seconds, std::max(out[w], in[w]) / wan.worker_rate);
  return {repeats * time.seconds, repeats * time.latency};
}

/// All take the same time.
void for_all(ExchangeCost& cost, PhaseTime time) {
  for (double& seconds : cost.seconds) seconds += time.seconds;
  for (double& latency : cost.latency) latency += time.latency;
}

class Exchanging {
 public:
  Exchanging(const Wan& wan, const std::vector<bool>& there, ExchangeCost& cost)
      : wan_(wan), cost_(cost) {
    for (std::size_t w = 0; w < there.size(); ++w)
      if (there[w]) present_.push_back(static_cast<int>(w));
    std::stable_sort(present_.begin(), present_.end(),
                     [&](int a, int b) { return site(a) < site(b); });
  }
  double count() const { return static_cast<double>(present_.size()); }

  /// One of the 2 (M - 1) steps of a ring, or M - 1 of a gather, in which everyone sends a part.
  void ring(bool gathers) {
    std::vector<Flow> flows;
    const double each = gathers ? 1 : 1 / count();
    for (std::size_t i = 0; i < present_.size(); ++i)
      flows.push_back(flow(present_[i], present_[(i + 1) % present_.size()], each));
    const double steps = (gathers ? 1 : 2) * (count() - 1);
    for_all(cost_, carry(wan_, flows, cost_, steps));
    cost_.sent = each * steps;
  }
  /// Halving and doubling: everyone with the one whose number differs in one bit, half of what is
  /// left each time; a gather doubles only. Numbers beyond the last one have no partner.
  void butterfly(bool gathers) {
    double part = gathers ? count() / 2 : 0.5;
    for (std::size_t bit = 1; bit < present_.size(); bit *= 2, part /= 2) {
      std::vector<Flow> flows;
      for (std::size_t i = 0; i < present_.size(); ++i)
        if ((i ^ bit) < present_.size())
          flows.push_back(flow(present_[i], present_[i ^ bit], part));
      for_all(cost_, carry(wan_, flows, cost_, gathers ? 1 : 2));
      cost_.sent += part * (gathers ? 1 : 2);
    }
  }
  /// Pairs at the same time; each takes what its own way takes under the load of all.
  void gossip(const std::vector<int>& partner, const std::vector<bool>& there) {
    std::vector<Flow> flows;
    for (const int w : present_) {
      const int other = partner[static_cast<std::size_t>(w)];
      if (other != w && there[static_cast<std::size_t>(other)]) flows.push_back(flow(w, other, 1));
    }
    carry(wan_, flows, cost_);
    for (const Flow& f : flows) {
      const WanWay& way = wan_.way(f.from, f.to);
      double seconds = std::max(1 / wan_.worker_rate, way.cap > 0 ? 1 / way.cap : 0);
      for (const int wire : way.wires) {
        const auto at = static_cast<std::size_t>(wire);
        seconds = std::max(seconds, cost_.carried[at] / wan_.wires[at].rate);
      }
      for (const int end : {f.worker, f.other}) {  // both wait for both directions
        const auto at = static_cast<std::size_t>(end);
        cost_.seconds[at] = std::max(cost_.seconds[at], seconds);
        cost_.latency[at] = std::max(cost_.latency[at], way.latency);
      }
    }
    cost_.sent = static_cast<double>(flows.size()) / count();
  }
  void server(int place) {
    std::vector<Flow> up, down;
    for (const int w : present_) {
      up.push_back({w, -1, site(w), place, 1});
      down.push_back({w, -1, place, site(w), 1});
    }
    for_all(cost_, carry(wan_, up, cost_));
    for_all(cost_, carry(wan_, down, cost_));
    cost_.sent = 1;
  }
  /// Every byte once to the next worker, without latency.
  void once() {
    std::vector<Flow> flows;
    for (std::size_t i = 0; i < present_.size(); ++i)
      flows.push_back(flow(present_[i], present_[(i + 1) % present_.size()], 1));
    PhaseTime time = carry(wan_, flows, cost_);
    time.latency = 0;
    for_all(cost_, time);
    cost_.sent = 1;
  }

 private:
  int site(int worker) const { return wan_.worker_site[static_cast<std::size_t>(worker)]; }
  Flow flow(int worker, int other, double bytes) const {
    return {worker, other, site(worker), site(other), bytes};
  }
  const Wan& wan_;
  ExchangeCost& cost_;
  std::vector<int> present_;  ///< by site
};

/// Ways over the fewest links, then with the least latency, from one site.
void find_ways(Wan& wan, const std::vector<double>& wire_latency, std::size_t from) {
  const std::size_t count = wan.sites.size();
  std::vector<int> hops(count, -1);
  std::vector<double> latency(count, 0.0);
  std::vector<int> last(count, -1);
  hops[from] = 0;
  for (int hop = 0; hop < static_cast<int>(count); ++hop) {
    for (std::size_t i = 0; i < wan.wires.size(); ++i) {
      const WanWire& wire = wan.wires[i];
      if (wire.from < 0 || wire.rate <= 0) continue;
      const auto a = static_cast<std::size_t>(wire.from), b = static_cast<std::size_t>(wire.to);
      if (hops[a] != hop || (hops[b] >= 0 && hops[b] <= hop)) continue;
      const double total = latency[a] + wire_latency[i];
      if (hops[b] == hop + 1 && latency[b] <= total) continue;
      hops[b] = hop + 1;
      latency[b] = total;
      last[b] = static_cast<int>(i);
    }
  }
  for (std::size_t to = 0; to < count; ++to) {
    WanWay& way = wan.ways[from * count + to];
    if (to == from) continue;
    std::erase_if(way.wires,
                  [&](int wire) { return wan.wires[static_cast<std::size_t>(wire)].from >= 0; });
    way.open = hops[to] >= 0;
    for (std::size_t at = to; way.open && at != from;) {
      way.wires.push_back(last[at]);
      at = static_cast<std::size_t>(wan.wires[static_cast<std::size_t>(last[at])].from);
    }
  }
}

}  // namespace

Wan wan_of(const models::Scenario& s) {
  Wan wan;
  const models::Cluster& cluster = s.cluster;
  const models::FabricSpec& fabric = cluster.fabric;
  const int devices = s.parallel.world_size();
  wan.worker_site = models::worker_sites(*s.outer, cluster, devices);
  std::vector<int> up, down;
  for (const models::SiteSpec& site : fabric.sites) {
    wan.sites.push_back(site.name);
    up.push_back(-1);
    down.push_back(-1);
    if (site.uplink.value <= 0) continue;
    up.back() = static_cast<int>(wan.wires.size());
    wan.wires.push_back({"out of " + site.name, site.uplink.value});
    down.back() = static_cast<int>(wan.wires.size());
    wan.wires.push_back({"into " + site.name, site.uplink.value});
  }
  const auto first_link = static_cast<int>(wan.wires.size());
  for (const models::WanLink& link : fabric.wan) {
    const auto from = static_cast<std::size_t>(link.from), to = static_cast<std::size_t>(link.to);
    wan.wires.push_back(
        {wan.sites[from] + ">" + wan.sites[to], link.bandwidth.value, link.from, link.to});
  }
  const models::NodeGroup& group = cluster.groups.front();
  wan.inside_latency = group.network.latency.value;
  const double nodes = static_cast<double>(devices) / group.devices_per_node;
  wan.worker_rate = group.network.rate().value * group.ports_per_node * nodes;
  const std::size_t count = wan.sites.size();
  wan.ways.resize(count * count);
  const std::size_t placed = static_cast<std::size_t>(std::count_if(
      fabric.sites.begin(), fabric.sites.end(), [](const auto& x) { return x.nodes > 0; }));
  for (std::size_t a = 0; a < placed; ++a) {
    for (std::size_t b = 0; b < placed; ++b) {
      WanWay& way = wan.ways[a * count + b];
      way.latency = wan.inside_latency;
      if (a == b) continue;
      const models::SitePair& pair = fabric.pairs[a * placed + b];
      way.latency = pair.link.latency.value;
      way.cap = pair.cap_per_flow;
      if (up[a] >= 0) way.wires.push_back(up[a]);
      if (down[b] >= 0) way.wires.push_back(down[b]);
      for (std::size_t at = b; at != a;) {
        const int via = fabric.via[a * count + at];
        way.wires.push_back(first_link + via);
        at = static_cast<std::size_t>(fabric.wan[static_cast<std::size_t>(via)].from);
      }
    }
  }
  return wan;
}

Wan without_links(const Wan& wan, const std::vector<models::OuterOutage>& outages) {
  Wan rest = wan;
  std::vector<double> latency(wan.wires.size(), 0.0);
  for (std::size_t i = 0; i < wan.wires.size(); ++i) {
    WanWire& wire = rest.wires[i];
    if (wire.from < 0) continue;
    latency[i] = wan.way(wire.from, wire.to).latency;
    for (const models::OuterOutage& o : outages) {
      if ((wire.from == o.from && wire.to == o.to) || (wire.from == o.to && wire.to == o.from))
        wire.rate = 0;
    }
  }
  for (std::size_t from = 0; from < rest.sites.size(); ++from) {
    find_ways(rest, latency, from);
    for (std::size_t to = 0; to < rest.sites.size(); ++to) {
      WanWay& way = rest.ways[from * rest.sites.size() + to];
      double sum = 0;
      for (const int wire : way.wires) sum += latency[static_cast<std::size_t>(wire)];
      if (to != from) way.latency = std::max(way.latency, sum);
    }
  }
  return rest;
}

ExchangeCost exchange_cost(const Wan& wan, OuterExchange exchange, bool gathers,
                           const std::vector<bool>& there, const std::vector<int>& partner,
                           int server) {
  ExchangeCost cost;
  cost.seconds.assign(there.size(), 0.0);
  cost.latency.assign(there.size(), 0.0);
  cost.carried.assign(wan.wires.size(), 0.0);
  Exchanging run(wan, there, cost);
  if (run.count() < 2) return cost;
  switch (exchange) {
    case OuterExchange::Ring:
      run.ring(gathers);
      break;
    case OuterExchange::Butterfly:
      run.butterfly(gathers);
      break;
    case OuterExchange::Gossip:
      run.gossip(partner, there);
      break;
    case OuterExchange::Server:
      run.server(server);
      break;
    case OuterExchange::Once:
      run.once();
      break;
  }
  return cost;
}

}  // namespace paceline::sim
