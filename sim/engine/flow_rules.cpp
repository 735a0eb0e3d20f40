// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/flow_rules.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "sim/engine/graph_order.hpp"

namespace paceline::sim {
namespace {

bool positive(double value) { return value > 0 && std::isfinite(value); }

void inspect_link(const NetworkLink& link) {
  if (!positive(link.bandwidth)) {
    throw base::Error("link '" + link.name + "'",
                      "has a bandwidth of " + std::to_string(link.bandwidth) + " B/s",
                      "a finite number above 0 is needed");
  }
  double before = 0;
  for (const NetworkLink::Change& change : link.changes) {
    if (!(change.at >= before && std::isfinite(change.at) && change.bandwidth >= 0 &&
          std::isfinite(change.bandwidth))) {
      throw base::Error("link '" + link.name + "'",
                        "changes to " + std::to_string(change.bandwidth) + " B/s at " +
                            std::to_string(change.at) + " s after " + std::to_string(before) + " s",
                        "times must not go back, and bandwidths be 0 or more");
    }
    before = change.at;
  }
}

}  // namespace

bool flows_after_latency(const Network& network, TaskId task) {
  const Transfer* transfer = network.transfer(task);
  return transfer != nullptr && transfer->bytes > 0 && !transfer->uses.empty();
}

std::vector<LinkChange> link_changes(const Network& network) {
  std::vector<LinkChange> changes;
  for (std::uint32_t l = 0; l < network.links.size(); ++l) {
    for (const NetworkLink::Change& change : network.links[l].changes) {
      changes.push_back({change.at, l, change.bandwidth});
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const LinkChange& a, const LinkChange& b) { return a.at < b.at; });
  return changes;
}

void inspect_network(const TaskGraph& graph) {
  const Network& network = graph.network;
  for (const NetworkLink& link : network.links) inspect_link(link);
  for (std::size_t i = 0; i < network.transfers.size(); ++i) {
    const Transfer& t = network.transfers[i];
    const bool numbers = t.latency >= 0 && std::isfinite(t.latency) && t.bytes >= 0 &&
                         std::isfinite(t.bytes) && (t.bytes == 0 || positive(t.rate));
    const bool uses = std::all_of(t.uses.begin(), t.uses.end(), [&](const LinkUse& use) {
      return use.link < network.links.size() && use.flows > 0;
    });
    if (!numbers || !uses) {
      throw base::Error("task graph", "transfer " + std::to_string(i) +
                                          " needs finite numbers >= 0, a rate above 0 and links "
                                          "that exist");
    }
  }
  for (TaskId t = 0; t < network.transfer_of.size() && t < graph.tasks.size(); ++t) {
    if (network.transfer_of[t] == kNoTransfer) continue;
    if (network.transfer_of[t] >= network.transfers.size()) {
      throw base::Error("task graph", describe(graph, t) + " names a transfer that does not exist");
    }
  }
}

namespace {

/// "all_reduce dp of rank 8".
std::string name_of(const TaskGraph& graph, TaskId t) {
  const Task& task = graph.tasks[t];
  if (task.segment >= graph.segments.size() || task.lane >= graph.lanes.size())
    return describe(graph, t);
  return graph.segments[task.segment].name + " of rank " +
         std::to_string(graph.lanes[task.lane].representative);
}

}  // namespace

void fail_waiting(const TaskGraph& graph, Workspace& workspace, std::span<const TaskId> running,
                  bool stream_order) {
  if (running.empty()) {
    evaluate_depth_first(graph, workspace, stream_order);  // finds the circle and throws
    throw base::Error("task graph", "the step never ends: tasks wait for each other");
  }
  constexpr std::size_t kNamed = 3;
  std::string text = "the step never ends: ";
  for (std::size_t i = 0; i < running.size() && i < kNamed; ++i) {
    text += (i > 0 ? ", " : "") + name_of(graph, running[i]);
  }
  if (running.size() > kNamed) text += " and " + std::to_string(running.size() - kNamed) + " more";
  text += running.size() > 1 ? " wait" : " waits";
  text += " for a link that is dead";
  for (const NetworkLink& link : graph.network.links) {
    if (link.changes.empty() || link.changes.back().bandwidth > 0) continue;
    text += " ('" + link.name + "' from " + std::to_string(link.changes.back().at) + " s on)";
    break;
  }
  throw base::NoProgress(text);
}

}  // namespace paceline::sim
