// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simgrid_module.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "sim/engine/event_queue.hpp"
#include "sim/engine/flow_rules.hpp"

namespace paceline::sim {
namespace {

namespace sg = simgrid::s4u;
using simgrid::kernel::timer::Timer;

/// SimGrid counts whole units of payload: small enough that none of a byte is lost.
constexpr double kUnitsPerByte = 1024;
/// Flows are sent this much short, so that SimGrid's rounding never lets one end after the tasks
/// that end at the same instant: those would choose their successors without it.
constexpr double kEarly = 4e-12;
/// A flow that ends this close to its time alone has not been slowed down: it ends exactly then.
constexpr double kExact = 1e-11;

void configure() {
  // The model without corrections (exactly bytes / bandwidth), an unlimited window, no traffic of
  // acknowledgements on the way back, and times to 1e-12 s.
  for (const char* setting : {"network/model:CM02", "network/TCP-gamma:1e30",
                              "network/crosstraffic:0", "surf/precision:1e-12"}) {
    sg::Engine::set_config(setting);
  }
}

/// Hosts, links and routes: a pair of hosts for every transfer, whose route is its links.
class Platform {
 public:
  explicit Platform(const Network& network) {
    zone_ = sg::create_full_zone("network");
    for (std::size_t l = 0; l < network.links.size(); ++l) {
      links_.push_back(
          zone_->create_link("l" + std::to_string(l), network.links[l].bandwidth * kUnitsPerByte));
      links_.back()->seal();  // latency 0: it is paid before the flow starts
    }
    for (std::size_t t = 0; t < network.transfers.size(); ++t) add_route(network.transfers[t], t);
    zone_->seal();
  }
  sg::Host* source(std::uint32_t transfer) const { return pairs_[transfer].first; }
  sg::Host* sink(std::uint32_t transfer) const { return pairs_[transfer].second; }
  sg::Link* link(std::uint32_t l) const { return links_[l]; }

 private:
  void add_route(const Transfer& transfer, std::size_t t) {
    if (transfer.bytes <= 0 || transfer.uses.empty()) {
      pairs_.emplace_back(nullptr, nullptr);
      return;
    }
    const std::string name = std::to_string(t);
    sg::Host* from = zone_->create_host("a" + name, 1)->seal();
    sg::Host* to = zone_->create_host("b" + name, 1)->seal();
    sg::Link* own = zone_->create_link("c" + name, transfer.rate * kUnitsPerByte);
    own->set_sharing_policy(sg::Link::SharingPolicy::FATPIPE)->seal();  // of each flow
    std::vector<sg::LinkInRoute> route{sg::LinkInRoute(own)};
    for (const LinkUse& use : transfer.uses) {
      // A link listed k times carries k times the rate: the k equal flows of the transfer.
      for (std::uint32_t k = 0; k < use.flows; ++k) route.emplace_back(links_[use.link]);
    }
    zone_->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
    pairs_.emplace_back(from, to);
  }
  sg::NetZone* zone_ = nullptr;
  std::vector<sg::Link*> links_;
  std::vector<std::pair<sg::Host*, sg::Host*>> pairs_;
};

class Run;
struct SimgridFlows {
  Run* run = nullptr;
  const Network* network = nullptr;
  bool moves(TaskId t) const { return flows_after_latency(*network, t); }
  double latency(TaskId t) const { return network->transfer(t)->latency; }
  void start(TaskId t, double now);
};

class Run {
 public:
  Run(const TaskGraph& graph, const EngineOptions& options, Workspace& workspace)
      : graph_(graph),
        workspace_(workspace),
        platform_(graph.network),
        flows_{this, &graph.network},
        queue_(graph, workspace, options.dispatch == models::Dispatch::Fixed, flows_),
        dead_(graph.network.links.size(), false) {
    sg::Activity::on_completion_cb([this](const sg::Activity& activity) {
      if (activity.get_state() == sg::Activity::State::FINISHED) {
        ended(*activity.get_data<TaskId>());
      }
    });
  }

  void go(sg::Engine& engine) {
    for (const LinkChange& change : link_changes(graph_.network)) {
      Timer::set(change.at, [this, change] { change_link(change); });
    }
    queue_.begin();
    arm();
    engine.run();
  }
  bool complete() const { return queue_.complete(); }
  std::vector<TaskId> running() const {
    std::vector<TaskId> tasks;
    for (const auto& [t, flow] : active_) tasks.push_back(t);
    return tasks;
  }

  void start_flow(TaskId t, double bytes) {
    Flow& flow = active_[t];
    flow.task = t;
    flow.left = bytes;
    const std::uint32_t transfer = graph_.network.transfer_of[t];
    if (crosses_dead_link(graph_.network.transfers[transfer])) return;  // waits there
    flow.comm = sg::Comm::sendto_init();
    const double sent = bytes - kEarly * graph_.network.transfers[transfer].rate;
    const double units = std::max(1.0, std::round(sent * kUnitsPerByte));
    flow.comm->set_payload_size(static_cast<std::uint64_t>(units));
    flow.comm->set_data(&flow.task);
    flow.comm->set_source(platform_.source(transfer));
    flow.comm->set_destination(platform_.sink(transfer));  // starts it
  }

 private:
  struct Flow {
    TaskId task = kNoTask;
    double left = 0;  ///< bytes, when it started last
    sg::CommPtr comm;
  };

  bool crosses_dead_link(const Transfer& transfer) const {
    return std::any_of(transfer.uses.begin(), transfer.uses.end(),
                       [&](const LinkUse& use) { return dead_[use.link]; });
  }

  /// Called by SimGrid amid its own work: what follows from it waits for the timers of this
  /// instant, when everything that ends now has ended.
  void ended(TaskId t) {
    const double alone = workspace_.timeline.start[t] + graph_.tasks[t].seconds;
    const double time = sg::Engine::get_clock() + kEarly;
    ended_.emplace_back(t, std::abs(time - alone) < kExact ? alone : time);
    wake_at(sg::Engine::get_clock());
  }

  void wake_at(double time) {
    if (time >= armed_) return;
    armed_ = time;
    Timer::set(time, [this] { wake(); });
  }
  void arm() { wake_at(queue_.next_time()); }

  void wake() {
    const double now = sg::Engine::get_clock();
    if (now < armed_) return;  // an earlier timer took this one's work
    armed_ = kNever;
    while (queue_.next_time() < now) queue_.advance(queue_.next_time());
    std::vector<std::pair<TaskId, double>> ended;
    ended.swap(ended_);
    for (const auto& [t, time] : ended) {
      active_.erase(t);
      queue_.end_flow(t, time);
    }
    while (queue_.next_time() <= now) queue_.advance(queue_.next_time());
    arm();
  }

  void change_link(const LinkChange& change) {
    dead_[change.link] = change.bandwidth <= 0;
    if (change.bandwidth > 0) {
      platform_.link(change.link)->set_bandwidth(change.bandwidth * kUnitsPerByte);
    }
    for (auto& [t, flow] : active_) {
      const bool blocked = crosses_dead_link(*graph_.network.transfer(t));
      const bool over = std::any_of(ended_.begin(), ended_.end(),
                                    [t = t](const auto& end) { return end.first == t; });
      if (over || blocked == (flow.comm == nullptr)) continue;
      if (blocked) {
        flow.left = flow.comm->get_remaining() / kUnitsPerByte;
        buried_.push_back(flow.comm);
        flow.comm->cancel();
        flow.comm = nullptr;
      } else {
        start_flow(t, flow.left);
      }
    }
  }

  const TaskGraph& graph_;
  const Workspace& workspace_;
  Platform platform_;
  SimgridFlows flows_;
  EventQueue<SimgridFlows> queue_;
  std::map<TaskId, Flow> active_;  ///< stable addresses: SimGrid keeps a pointer to `task`
  std::vector<std::pair<TaskId, double>> ended_;  ///< and when
  std::vector<sg::CommPtr> buried_;               ///< cancelled: must outlive their last callback
  std::vector<bool> dead_;
  double armed_ = kNever;
};

void SimgridFlows::start(TaskId t, double) { run->start_flow(t, network->transfer(t)->bytes); }

void run_graph(const TaskGraph& graph, const EngineOptions& options, double* start, double* finish,
               SimgridOutcome& outcome) {
  std::string program = "paceline", quiet = "--log=root.thresh:error";
  char* arguments[] = {program.data(), quiet.data(), nullptr};
  int count = 2;
  sg::Engine engine(&count, arguments);
  configure();
  Workspace workspace;
  workspace.timeline.start.resize(graph.tasks.size());
  Run run(graph, options, workspace);
  run.go(engine);
  const Timeline& timeline = workspace.timeline;
  std::copy(timeline.start.begin(), timeline.start.end(), start);
  std::copy(timeline.finish.begin(), timeline.finish.end(), finish);
  outcome.makespan = timeline.makespan;
  const std::vector<TaskId> stuck = run.running();
  outcome.running = stuck.size();
  std::copy_n(stuck.begin(), std::min(stuck.size(), SimgridOutcome::kStuck), outcome.stuck);
  outcome.state = run.complete() ? SimgridOutcome::State::Done : SimgridOutcome::State::Waiting;
}

}  // namespace
}  // namespace paceline::sim

extern "C" void paceline_simgrid_run(const paceline::sim::TaskGraph& graph,
                                     const paceline::sim::EngineOptions& options, double* start,
                                     double* finish, paceline::sim::SimgridOutcome& outcome) {
  try {
    paceline::sim::run_graph(graph, options, start, finish, outcome);
  } catch (const std::exception& error) {
    outcome.state = paceline::sim::SimgridOutcome::State::Failed;
    std::strncpy(outcome.message, error.what(), sizeof outcome.message - 1);
  }
}
