// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/shared_wires.hpp"

#include <algorithm>
#include <utility>

namespace paceline::sim {
namespace {

/// Rounding of rates that fill a wire exactly.
constexpr double kExact = 1 + 1e-9;

using Uses = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  ///< transfer, flows

/// Flows by wire.
std::map<int, Uses> by_wire(const std::vector<std::map<int, std::uint32_t>>& loads) {
  std::map<int, Uses> uses;
  for (std::uint32_t t = 0; t < loads.size(); ++t) {
    for (const auto& [wire, flows] : loads[t]) uses[wire].emplace_back(t, flows);
  }
  return uses;
}

bool can_fill(const Uses& uses, const std::vector<Transfer>& transfers,
              const std::vector<std::set<std::size_t>>& streams, double bandwidth) {
  std::map<std::size_t, double> most;  // by stream
  for (const auto& [t, flows] : uses) {
    for (const std::size_t stream : streams[t]) {
      most[stream] = std::max(most[stream], transfers[t].rate * flows);
    }
  }
  double together = 0;
  for (const auto& [stream, rate] : most) together += rate;
  return together > bandwidth * kExact;
}

double narrowest(const models::Wire& wire) {
  double bandwidth = wire.bandwidth.value;
  for (const models::RateChange& change : wire.changes) {
    bandwidth = std::min(bandwidth, change.bandwidth.value);
  }
  return bandwidth;
}

NetworkLink link_of(const models::Wire& wire) {
  NetworkLink link;
  link.name = wire.name;
  link.bandwidth = wire.bandwidth.value;
  for (const models::RateChange& change : wire.changes) {
    link.changes.push_back({change.at.value, change.bandwidth.value});
  }
  return link;
}

}  // namespace

void keep_shared(TaskGraph& graph, const models::Fabric& fabric,
                 const std::vector<std::set<std::size_t>>& streams,
                 std::vector<std::map<int, std::uint32_t>> loads, std::vector<Transfer> transfers,
                 std::vector<std::uint32_t> transfer_of) {
  Network& network = graph.network;
  network = {};
  std::map<Uses, std::uint32_t> known;  // link by flows
  for (const auto& [w, uses] : by_wire(loads)) {
    const models::Wire& wire = fabric.wires[static_cast<std::size_t>(w)];
    if (!can_fill(uses, transfers, streams, narrowest(wire))) continue;
    const auto l = static_cast<std::uint32_t>(network.links.size());
    const bool own = !wire.changes.empty();  // its own course: it stays beside its likes
    const auto found = own ? known.end() : known.find(uses);
    if (found == known.end()) {
      if (!own) known.emplace(uses, l);
      network.links.push_back(link_of(wire));
      for (const auto& [t, flows] : uses) transfers[t].uses.push_back({l, flows});
      continue;
    }
    NetworkLink& twin = network.links[found->second];
    ++twin.alike;
    if (wire.bandwidth.value < twin.bandwidth) {
      twin.bandwidth = wire.bandwidth.value;
      twin.name = wire.name;
    }
  }
  for (auto& transfer : transfer_of) {
    if (transfer != kNoTransfer && transfers[transfer].uses.empty()) transfer = kNoTransfer;
  }
  if (network.links.empty()) return;
  network.transfers = std::move(transfers);
  network.transfer_of = std::move(transfer_of);
}

}  // namespace paceline::sim
