// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simgrid_module.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
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

/// Hosts, links and routes. Transfers over the same links at the same rate share a route. A route
/// is that of a pair of hosts; pairs are taken from as few hosts as there can be, because a zone's
/// table has a place for each two of them.
class Platform {
 public:
  explicit Platform(const Network& network) : network_(network) {
    zone_ = sg::create_full_zone("network");
    for (std::size_t l = 0; l < network.links.size(); ++l) {
      links_.push_back(
          zone_->create_link("l" + std::to_string(l), network.links[l].bandwidth * kUnitsPerByte));
      links_.back()->seal();  // latency 0: it is paid before the flow starts
    }
    const std::vector<const Transfer*> routes = find_routes();
    while (hosts_.size() < 2 || hosts_.size() * (hosts_.size() - 1) < routes.size()) {
      hosts_.push_back(zone_->create_host("h" + std::to_string(hosts_.size()), 1)->seal());
    }
    for (std::uint32_t r = 0; r < routes.size(); ++r) add_route(*routes[r], r);
    zone_->seal();
  }
  sg::Host* source(std::uint32_t transfer) const { return from(route_of_[transfer]); }
  sg::Host* sink(std::uint32_t transfer) const { return to(route_of_[transfer]); }
  sg::Link* link(std::uint32_t l) const { return links_[l]; }

 private:
  sg::Host* from(std::size_t route) const { return hosts_[route / (hosts_.size() - 1)]; }
  sg::Host* to(std::size_t route) const {
    const std::size_t first = route / (hosts_.size() - 1), second = route % (hosts_.size() - 1);
    return hosts_[second + (second >= first ? 1 : 0)];
  }

  /// One transfer for each route, and the route of every transfer that moves.
  std::vector<const Transfer*> find_routes() {
    std::vector<const Transfer*> routes;
    std::map<std::pair<double, std::vector<std::pair<std::uint32_t, std::uint32_t>>>, std::uint32_t>
        known;
    route_of_.assign(network_.transfers.size(), 0);
    for (std::size_t t = 0; t < network_.transfers.size(); ++t) {
      const Transfer& transfer = network_.transfers[t];
      if (transfer.bytes <= 0 || transfer.uses.empty()) continue;
      std::pair<double, std::vector<std::pair<std::uint32_t, std::uint32_t>>> key;
      key.first = transfer.rate;
      for (const LinkUse& use : transfer.uses) key.second.emplace_back(use.link, use.flows);
      const auto [found, fresh] =
          known.try_emplace(std::move(key), static_cast<std::uint32_t>(routes.size()));
      if (fresh) routes.push_back(&transfer);
      route_of_[t] = found->second;
    }
    return routes;
  }

  /// Whether a link of the transfer never lets its flows go faster than their own limit.
  bool limited(const Transfer& transfer) const {
    return std::any_of(transfer.uses.begin(), transfer.uses.end(), [&](const LinkUse& use) {
      const NetworkLink& link = network_.links[use.link];
      double most = link.bandwidth;
      for (const NetworkLink::Change& change : link.changes) {
        most = std::max(most, change.bandwidth);
      }
      return most <= transfer.rate * use.flows;
    });
  }

  void add_route(const Transfer& transfer, std::uint32_t r) {
    std::vector<sg::LinkInRoute> route;
    if (!limited(transfer)) {
      sg::Link* own = zone_->create_link("c" + std::to_string(r), transfer.rate * kUnitsPerByte);
      own->set_sharing_policy(sg::Link::SharingPolicy::FATPIPE)->seal();  // of each flow
      route.emplace_back(own);
    }
    for (const LinkUse& use : transfer.uses) {
      // A link listed k times carries k times the rate: the k equal flows of the transfer.
      for (std::uint32_t k = 0; k < use.flows; ++k) route.emplace_back(links_[use.link]);
    }
    zone_->add_route(from(r)->get_netpoint(), to(r)->get_netpoint(), nullptr, nullptr, route,
                     false);
  }

  const Network& network_;
  sg::NetZone* zone_ = nullptr;
  std::vector<sg::Link*> links_;
  std::vector<sg::Host*> hosts_;
  std::vector<std::uint32_t> route_of_;  ///< by transfer
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
        queue_(graph, workspace, options, flows_),
        dead_(graph.network.links.size(), false) {
    sg::Activity::on_completion_cb([this](const sg::Activity& activity) {
      if (activity.get_state() == sg::Activity::State::FINISHED) ended(*activity.get_data<Flow>());
    });
  }

  void go(sg::Engine& engine) {
    for (const LinkChange& change : link_changes(graph_.network)) {
      Timer::set(change.at, [this, change] { change_link(change); });
    }
    queue_.begin();
    go_on();
    engine.run();
  }
  bool complete() const { return queue_.complete(); }
  std::vector<TaskId> running() {
    std::vector<TaskId> tasks;
    for (const Flow* flow : active()) tasks.push_back(flow->task);
    return tasks;
  }

  /// The latency of the task is over at `time`: at once, or when SimGrid has come so far.
  void start_flow(TaskId t, double time) {
    Flow* flow = nullptr;
    if (free_.empty()) {
      flow = &flows_in_use_.emplace_back();
    } else {
      flow = free_.back();
      free_.pop_back();
    }
    *flow = {t, graph_.network.transfer(t)->bytes, false, nullptr};
    ++moving_;
    if (time <= sg::Engine::get_clock()) {
      send(*flow);
    } else {
      ahead_.push_back(flow);
      ahead_until_ = time;
    }
  }

 private:
  struct Flow {
    TaskId task = kNoTask;  ///< kNoTask: not in use
    double left = 0;        ///< bytes, when it started last
    bool over = false;      ///< has ended, its task not yet
    sg::CommPtr comm;       ///< null: waits for a dead link
  };

  void send(Flow& flow) {
    const std::uint32_t transfer = graph_.network.transfer_of[flow.task];
    if (crosses_dead_link(graph_.network.transfers[transfer])) return;  // waits there
    flow.comm = sg::Comm::sendto_init();
    const double sent = flow.left - kEarly * graph_.network.transfers[transfer].rate;
    const double units = std::max(1.0, std::round(sent * kUnitsPerByte));
    flow.comm->set_payload_size(static_cast<std::uint64_t>(units));
    flow.comm->set_data(&flow);
    flow.comm->set_source(platform_.source(transfer));
    flow.comm->set_destination(platform_.sink(transfer));  // starts it
  }

  /// Flows in use, by task.
  std::vector<Flow*> active() {
    std::vector<Flow*> flows;
    for (Flow& flow : flows_in_use_) {
      if (flow.task != kNoTask) flows.push_back(&flow);
    }
    std::sort(flows.begin(), flows.end(),
              [](const Flow* a, const Flow* b) { return a->task < b->task; });
    return flows;
  }

  static bool uses(const Transfer& transfer, std::uint32_t link) {
    return std::any_of(transfer.uses.begin(), transfer.uses.end(),
                       [&](const LinkUse& use) { return use.link == link; });
  }
  bool crosses_dead_link(const Transfer& transfer) const {
    return std::any_of(transfer.uses.begin(), transfer.uses.end(),
                       [&](const LinkUse& use) { return dead_[use.link]; });
  }

  /// Called by SimGrid amid its own work: what follows from it waits for the timers of this
  /// instant, when everything that ends now has ended.
  void ended(Flow& flow) {
    const double alone = workspace_.timeline.start[flow.task] + graph_.tasks[flow.task].seconds;
    const double time = sg::Engine::get_clock() + kEarly;
    flow.over = true;
    ended_.emplace_back(&flow, std::abs(time - alone) < kExact ? alone : time);
    wake_at(sg::Engine::get_clock());
  }

  /// Timers that have not fired yet end at ever earlier times: the earliest is the last.
  void wake_at(double time) {
    if (time == kNever || (!timers_.empty() && time >= timers_.back())) return;
    timers_.push_back(time);
    Timer::set(time, [this] {
      timers_.pop_back();
      go_on();
    });
  }

  void go_on() {
    const double now = sg::Engine::get_clock();
    if (!ahead_.empty()) {
      if (now >= ahead_until_) {
        for (Flow* flow : ahead_) send(*flow);
        ahead_.clear();
      }
    } else {
      while (queue_.next_time() < now) queue_.advance(queue_.next_time());
    }
    std::vector<std::pair<Flow*, double>> ended;
    ended.swap(ended_);
    for (const auto& [flow, time] : ended) {
      queue_.end_flow(flow->task, time);
      *flow = {};
      free_.push_back(flow);
      --moving_;
    }
    while (ahead_.empty() && queue_.next_time() <= now) queue_.advance(queue_.next_time());
    // Nothing moves: until something does, time passes without SimGrid.
    while (moving_ == 0 && !queue_.idle()) queue_.advance(queue_.next_time());
    wake_at(ahead_.empty() ? queue_.next_time() : ahead_until_);
  }

  /// SimGrid never lets a flow go faster than the narrowest link did when it started: flows on a
  /// link that gets wider are sent again.
  void change_link(const LinkChange& change) {
    sg::Link* link = platform_.link(change.link);
    const bool wider = change.bandwidth * kUnitsPerByte > link->get_bandwidth();
    dead_[change.link] = change.bandwidth <= 0;
    if (change.bandwidth > 0) link->set_bandwidth(change.bandwidth * kUnitsPerByte);
    if (!ahead_.empty()) return;  // nothing has been sent yet
    for (Flow* flow : active()) {
      if (flow->over) continue;
      const Transfer& transfer = *graph_.network.transfer(flow->task);
      const bool blocked = crosses_dead_link(transfer);
      if (flow->comm != nullptr && (blocked || (wider && uses(transfer, change.link)))) {
        flow->left = flow->comm->get_remaining() / kUnitsPerByte;
        buried_.push_back(flow->comm);
        flow->comm->cancel();
        flow->comm = nullptr;
      }
      if (flow->comm == nullptr && !blocked) send(*flow);
    }
  }

  const TaskGraph& graph_;
  const Workspace& workspace_;
  Platform platform_;
  SimgridFlows flows_;
  EventQueue<SimgridFlows> queue_;
  std::deque<Flow> flows_in_use_;  ///< stable addresses: SimGrid keeps pointers
  std::vector<Flow*> free_;
  std::size_t moving_ = 0;  ///< flows in use
  /// Flows that start at a time to which only the event queue has come, and that time.
  std::vector<Flow*> ahead_;
  double ahead_until_ = 0;
  std::vector<std::pair<Flow*, double>> ended_;  ///< and when
  std::vector<sg::CommPtr> buried_;              ///< cancelled: must outlive their last callback
  std::vector<bool> dead_;
  std::vector<double> timers_;
};

void SimgridFlows::start(TaskId t, double now) { run->start_flow(t, now); }

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
