// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/maxmin.hpp"

#include <algorithm>

#include "sim/engine/event_queue.hpp"
#include "sim/engine/flow_rules.hpp"

namespace paceline::sim {
namespace {

/// A flow with less than this left to do has ended: several that end together do so at once.
constexpr double kSameInstant = 1e-12;

struct Flow {
  TaskId task;
  double remaining;  ///< bytes of one of its flows
  double rate;
};

class MaxMinFlows {
 public:
  explicit MaxMinFlows(const TaskGraph& graph) : network_(graph.network) {
    for (const NetworkLink& link : network_.links) capacity_.push_back(link.bandwidth);
  }
  bool moves(TaskId t) const { return flows_after_latency(network_, t); }
  double latency(TaskId t) const { return network_.transfer(t)->latency; }
  void start(TaskId t, double) {
    flows_.push_back({t, network_.transfer(t)->bytes, 0});
    changed_ = true;
  }
  void set_capacity(std::uint32_t link, double bandwidth) {
    capacity_[link] = bandwidth;
    changed_ = true;
  }
  void advance(double seconds) {
    for (Flow& flow : flows_) flow.remaining -= flow.rate * seconds;
  }
  /// Seconds to the next end at today's rates.
  double next_end() {
    if (changed_) solve();
    double next = kNever;
    for (const Flow& flow : flows_) {
      if (flow.rate > 0) next = std::min(next, std::max(0.0, flow.remaining / flow.rate));
    }
    return next;
  }
  std::vector<TaskId> take_ended() {
    std::vector<TaskId> ended;
    std::erase_if(flows_, [&](const Flow& flow) {
      const bool done = flow.rate > 0 && flow.remaining <= flow.rate * kSameInstant;
      if (done) ended.push_back(flow.task);
      return done;
    });
    changed_ |= !ended.empty();
    return ended;
  }
  std::vector<TaskId> running() const {
    std::vector<TaskId> tasks;
    for (const Flow& flow : flows_) tasks.push_back(flow.task);
    return tasks;
  }

 private:
  void solve() {
    std::vector<const Transfer*> active;
    for (const Flow& flow : flows_) active.push_back(network_.transfer(flow.task));
    const std::vector<double> rates = max_min_rates(capacity_, active);
    for (std::size_t i = 0; i < flows_.size(); ++i) flows_[i].rate = rates[i];
    changed_ = false;
  }
  const Network& network_;
  std::vector<double> capacity_;
  std::vector<Flow> flows_;
  bool changed_ = false;
};

}  // namespace

std::vector<double> max_min_rates(std::span<const double> capacity,
                                  std::span<const Transfer* const> active) {
  std::vector<double> rates(active.size(), -1), left(capacity.begin(), capacity.end());
  std::vector<double> wanted(capacity.size(), 0);  // flows without a rate, by link
  for (const Transfer* transfer : active) {
    for (const LinkUse& use : transfer->uses) wanted[use.link] += use.flows;
  }
  for (std::size_t open = active.size(); open > 0;) {
    double level = kNever;
    for (std::size_t l = 0; l < left.size(); ++l) {
      if (wanted[l] > 0) level = std::min(level, std::max(0.0, left[l]) / wanted[l]);
    }
    for (std::size_t i = 0; i < active.size(); ++i) {
      if (rates[i] < 0) level = std::min(level, active[i]->rate);
    }
    // Everything that cannot go faster than the level keeps it.
    std::vector<char> full(left.size(), 0);
    for (std::size_t l = 0; l < left.size(); ++l) {
      full[l] = static_cast<char>(wanted[l] > 0 && left[l] <= level * wanted[l] * (1 + 1e-12));
    }
    for (std::size_t i = 0; i < active.size(); ++i) {
      if (rates[i] >= 0) continue;
      const Transfer& transfer = *active[i];
      const bool stopped = transfer.rate <= level ||
                           std::any_of(transfer.uses.begin(), transfer.uses.end(),
                                       [&](const LinkUse& use) { return full[use.link] != 0; });
      if (!stopped) continue;
      rates[i] = level;
      --open;
      for (const LinkUse& use : transfer.uses) {
        left[use.link] -= level * use.flows;
        wanted[use.link] -= use.flows;
      }
    }
  }
  return rates;
}

Timeline run_max_min(const TaskGraph& graph, const EngineOptions& options) {
  inspect(graph);
  inspect_network(graph);
  Workspace workspace;
  workspace.timeline.start.resize(graph.tasks.size());
  workspace.timeline.makespan = 0;
  MaxMinFlows flows(graph);
  const bool fixed = options.dispatch == models::Dispatch::Fixed;
  EventQueue<MaxMinFlows> queue(graph, workspace, options, flows);
  const std::vector<LinkChange> changes = link_changes(graph.network);
  std::size_t change = 0;
  queue.begin();
  for (double now = 0; !queue.complete();) {
    const double end = now + flows.next_end();
    const double turn = change < changes.size() ? changes[change].at : kNever;
    const double next = std::min({queue.next_time(), end, turn});
    if (next == kNever) fail_waiting(graph, workspace, flows.running(), fixed);
    flows.advance(next - now);
    now = next;
    for (; change < changes.size() && changes[change].at <= now; ++change) {
      flows.set_capacity(changes[change].link, changes[change].bandwidth);
    }
    for (const TaskId t : flows.take_ended()) queue.end_flow(t, now);
    queue.advance(now);
  }
  return std::move(workspace.timeline);
}

}  // namespace paceline::sim
