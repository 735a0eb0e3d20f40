// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/simulate_jobs.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "base/message.hpp"
#include "sim/jobs/job_account.hpp"
#include "sim/jobs/job_laws.hpp"

namespace paceline::sim::jobs {
namespace {

using models::JobsFile;
using models::JobsInstance;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr std::size_t kNobody = std::numeric_limits<std::size_t>::max();

std::vector<int> stages_by_part(const JobPath& path) {
  std::vector<int> parts;
  for (const PathPart& part : path) parts.push_back(part.stages);
  return parts;
}

class Simulation {
 public:
  Simulation(const JobsFile& file, const JobsInstance& instance, JobSteps& steps,
             const JobPolicy& policy)
      : file_(file), instance_(instance), steps_(steps), policy_(policy) {
    graph_ = region_graph(file, instance);
    outcome_.runs.resize(instance.jobs.size());
    stopped_.assign(instance.jobs.size(), false);
    stopping_.assign(instance.jobs.size(), -1);
    stopped_for_.assign(instance.jobs.size(), kNobody);
    waits_.assign(instance.jobs.size(), false);
    outcome_.done.assign(instance.jobs.size(), false);
    for (const models::Job& job : instance.jobs) {
      const std::vector<int>& sizes = steps.sizes(job.kind);
      outcome_.least_devices.push_back(sizes.empty() ? 0
                                                     : sizes.front() * file.kinds[job.kind].unit);
      left_.push_back(job.steps);
    }
    outcome_.regions.resize(instance.regions.size());
    held_.assign(instance.regions.size(), 0);
    used_.assign(instance.regions.size(), 0);
    integral_.assign(instance.regions.size(), 0);
  }

  JobsOutcome run() {
    while (true) {
      settle_reservations();
      start_jobs();
      const double next = next_event();
      if (next == kNever) break;
      advance(next);
    }
    sum_up(instance_, outcome_);
    check_outcome(file_, instance_, outcome_, integral_);
    return std::move(outcome_);
  }

 private:
  /// Devices that are reserved go over as far as they are free, and come back at the end.
  void settle_reservations() {
    for (std::size_t r = 0; r < held_.size(); ++r) {
      int wanted = 0;
      for (const models::Reservation& one : file_.reserved)
        if (one.region == r && one.from <= clock_ && clock_ < one.until) wanted += one.devices;
      const int change = std::min(wanted - held_[r], graph_[r].free);
      held_[r] += change;
      if (change != 0) ++changes_;
      graph_[r].free -= change;
    }
  }

  double congestion() const {
    double reserved = 0, all = 0;
    for (const auto edge : boost::make_iterator_range(boost::edges(graph_))) {
      reserved += graph_[edge].rate - graph_[edge].free;
      all += graph_[edge].rate;
    }
    return all > 0 ? reserved / all : 0;
  }

  QueuedJob queued(std::size_t j) {
    const models::Job& job = instance_.jobs[j];
    if (steps_.sizes(job.kind).empty()) return {j, job.arrives, 0, 0, 0, job.tier};  // never starts
    const int most = steps_.sizes(job.kind).back();
    const StepCost alone = steps_.step(job.kind, {most}, {});
    const models::JobKind& kind = file_.kinds[job.kind];
    return {j,
            job.arrives,
            left_[j] * alone.busy * kind.unit,
            left_[j] * alone.seconds,
            kind.activation.value / steps_.stage_seconds(job.kind, most),
            job.tier};
  }

  std::vector<std::size_t> order() {
    std::vector<std::size_t> places(queue_.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::vector<double> priority(queue_.size(), 0);
    if (policy_.priority) priority = policy_.priority(queue_, congestion());
    PACELINE_CHECK(priority.size() == queue_.size());
    std::stable_sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(queue_[a].tier, priority[a]) > std::pair(queue_[b].tier, priority[b]);
    });
    return places;
  }

  void start_jobs() {
    while (!queue_.empty() && start_one()) {
    }
    if (queue_.empty() && file_.queue.resize) move_one();
  }

  JobPath place(const RegionGraph& graph, std::size_t j) {
    if (steps_.sizes(instance_.jobs[j].kind).empty()) return {};
    return policy_.place(graph, request_of(j));
  }

  /// The first of the queue that can start does; without backfill that is the first or none.
  bool start_one() {
    for (const std::size_t at : order()) {
      const std::size_t j = queue_[at].job;
      if (makes_room(j)) continue;
      const JobPath path = place(graph_, j);
      if (!path.empty()) {
        start(j, path);
        queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(at));
        waits_[j] = false;
        return true;
      }
      if (file_.queue.preempt) make_room(j);
      if (!file_.queue.backfill) return false;
    }
    return false;
  }

  /// Stopped for a job that still waits: starting it again would take what was freed. Where nothing
  /// runs there is nothing to wait for.
  bool makes_room(std::size_t j) const {
    const std::size_t other = stopped_for_[j];
    return other != kNobody && waits_[other] && !running_.empty();
  }

  /// The regions as they would be without a running job.
  void take_out(RegionGraph& graph, std::size_t j) const {
    const JobRun& run = outcome_.runs[j].back();
    const int unit = file_.kinds[instance_.jobs[j].kind].unit;
    for (const PathPart& part : run.path) graph[part.region].free += part.stages * unit;
    for (std::size_t p = 0; p < run.reserved.size(); ++p)
      graph[boost::edge(run.path[p].region, run.path[p + 1].region, graph).first].free +=
          run.reserved[p];
  }

  // Who has stopped others, or itself, does so again only after another job has come or ended:
  // without that two placements that each seem better from the other would take turns for ever.

  /// Stops as few running jobs of lower tiers as let job j start, or none. Those that are saving
  /// already are counted on.
  void make_room(std::size_t j) {
    if (stopping_[j] == changes_) return;
    stopping_[j] = changes_;
    RegionGraph graph = graph_;
    std::vector<std::size_t> others;
    for (const std::size_t other : running_) {
      if (stopped_[other]) {
        take_out(graph, other);
      } else if (instance_.jobs[other].tier < instance_.jobs[j].tier) {
        others.push_back(other);
      }
    }
    std::stable_sort(others.begin(), others.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(instance_.jobs[a].tier, -outcome_.runs[a].back().start) <
             std::pair(instance_.jobs[b].tier, -outcome_.runs[b].back().start);
    });
    std::size_t count = 0;
    while (place(graph, j).empty()) {
      if (count == others.size()) return;
      take_out(graph, others[count++]);
    }
    for (std::size_t i = 0; i < count; ++i)
      if (stop(others[i])) stopped_for_[others[i]] = j;
  }

  /// Seconds to save or fetch a state where it lies.
  double at_storage(std::size_t j) const {
    return file_.kinds[instance_.jobs[j].kind].state.value / file_.queue.storage.value;
  }

  /// The job saves its state from now on, if that ends before the job does: whether it did.
  bool stop(std::size_t j) {
    JobRun& run = outcome_.runs[j].back();
    const double end = std::max(clock_, run.start + run.fetch) + at_storage(j);
    if (end >= run.finish) return false;
    if (++stops_ > kMaxStops)
      throw base::Error(file_.queue.where,
                        "jobs stop each other or move more than " + std::to_string(kMaxStops) +
                            " times, last " + base::quote(instance_.jobs[j].name),
                        "fewer jobs, or no preempt and resize");
    const double worked = std::max(0.0, clock_ - run.start - run.fetch);
    run.steps = std::min(worked / run.step_seconds, left_[j]);
    run.save = at_storage(j);
    run.finish = end;
    stopped_[j] = true;
    stopped_for_[j] = kNobody;
    return true;
  }

  /// One running job goes where its policy would put it now, if that pays.
  void move_one() {
    if (std::any_of(running_.begin(), running_.end(), [&](auto j) { return stopped_[j]; })) return;
    for (const std::size_t j : running_) {
      if (stopping_[j] == changes_) continue;
      RegionGraph graph = graph_;
      take_out(graph, j);
      const JobPath path = place(graph, j);
      const JobRun& run = outcome_.runs[j].back();
      if (path.empty() || path == run.path || clock_ < run.start + run.fetch) continue;
      const double left = left_[j] - (clock_ - run.start - run.fetch) / run.step_seconds;
      const double step = step_on(graph, j, path).first.seconds;
      const double moving = at_storage(j) + fetch_seconds(graph, j, path);
      if (!(left * step + moving < run.finish - clock_)) continue;
      stopping_[j] = changes_;
      stop(j);
      return;
    }
  }

  /// Fetching the state of a job that ran before: as slow as the storages, and as the link from
  /// where it was saved, the first region of its last path.
  double fetch_seconds(const RegionGraph& graph, std::size_t j, const JobPath& path) const {
    if (outcome_.runs[j].empty()) return 0;
    const std::size_t from = outcome_.runs[j].back().path.front().region;
    if (from == path.front().region) return at_storage(j);
    const LinkState& way = graph[boost::edge(from, path.front().region, graph).first];
    const double state = file_.kinds[instance_.jobs[j].kind].state.value;
    return std::max(at_storage(j), state / way.rate) + way.latency;
  }

  PlacementRequest request_of(std::size_t j) {
    const std::size_t k = instance_.jobs[j].kind;
    PlacementRequest request;
    request.unit = file_.kinds[k].unit;
    request.sizes = &steps_.sizes(k);
    request.activation = file_.kinds[k].activation.value;
    request.stage_seconds = [this, k](int stages) { return steps_.stage_seconds(k, stages); };
    request.wait_for_full = file_.queue.wait_for_full;
    return request;
  }

  /// A step on a path of which nothing is reserved yet, and what it would reserve of its links.
  std::pair<StepCost, JobRun> step_on(const RegionGraph& graph, std::size_t j,
                                      const JobPath& path) {
    const models::Job& job = instance_.jobs[j];
    const double bytes = file_.kinds[job.kind].activation.value;
    JobRun run;
    run.path = path;
    const std::vector<int> parts = stages_by_part(path);
    const int stages = std::accumulate(parts.begin(), parts.end(), 0);
    if (path.size() > 1) run.demand = bytes / steps_.stage_seconds(job.kind, stages);
    for (std::size_t p = 1; p < path.size(); ++p) {
      const LinkState& link = graph[boost::edge(path[p - 1].region, path[p].region, graph).first];
      PACELINE_CHECK(link.free > 0);
      // A message has the whole link where the job finds what it demands, else what is left of it.
      const double rate = link.free >= run.demand ? link.rate : link.free;
      run.hops.push_back({bytes / rate, link.latency});
      run.reserved.push_back(std::min(run.demand, link.free));
    }
    const StepCost step = steps_.step(job.kind, parts, run.hops);
    run.step_seconds = step.seconds;
    return {step, run};
  }

  void start(std::size_t j, const JobPath& path) {
    check_path(graph_, path, request_of(j));
    const int unit = file_.kinds[instance_.jobs[j].kind].unit;
    JobRun run = step_on(graph_, j, path).second;
    run.fetch = fetch_seconds(graph_, j, path);
    run.start = clock_;
    run.steps = left_[j];
    run.finish = clock_ + run.fetch + left_[j] * run.step_seconds;
    for (const PathPart& part : path) {
      graph_[part.region].free -= part.stages * unit;
      used_[part.region] += part.stages * unit;
    }
    outcome_.runs[j].push_back(std::move(run));
    running_.push_back(j);
    settle_links();
  }

  double next_event() const {
    double next = kNever;
    if (arrived_ < instance_.jobs.size()) next = instance_.jobs[arrived_].arrives;
    for (const std::size_t j : running_) next = std::min(next, outcome_.runs[j].back().finish);
    if (queue_.empty() && next == kNever) return next;  // nothing left that could start
    for (const models::Reservation& one : file_.reserved)
      for (const double at : {one.from, one.until})
        if (at > clock_) next = std::min(next, at);
    return next;
  }

  void advance(double next) {
    PACELINE_CHECK(next >= clock_);
    for (std::size_t r = 0; r < used_.size(); ++r) integral_[r] += used_[r] * (next - clock_);
    clock_ = next;
    const auto ended = [&](std::size_t j) {
      if (outcome_.runs[j].back().finish > clock_) return false;
      end(j);
      return true;
    };
    running_.erase(std::remove_if(running_.begin(), running_.end(), ended), running_.end());
    settle_links();
    while (arrived_ < instance_.jobs.size() && instance_.jobs[arrived_].arrives <= clock_) {
      waits_[arrived_] = true;
      queue_.push_back(queued(arrived_++));
      ++changes_;
    }
  }

  void end(std::size_t j) {
    const int unit = file_.kinds[instance_.jobs[j].kind].unit;
    const JobRun& run = outcome_.runs[j].back();
    for (const PathPart& part : run.path) {
      graph_[part.region].free += part.stages * unit;
      used_[part.region] -= part.stages * unit;
    }
    const StepCost step = steps_.step(instance_.jobs[j].kind, stages_by_part(run.path), run.hops);
    account(file_, instance_, j, step, outcome_);
    left_[j] -= run.steps;
    if (stopped_[j]) {
      waits_[j] = true;
      queue_.push_back(queued(j));
      std::stable_sort(queue_.begin(), queue_.end(), [](const QueuedJob& a, const QueuedJob& b) {
        return std::pair(a.arrives, a.job) < std::pair(b.arrives, b.job);
      });
    }
    if (!stopped_[j]) ++changes_;
    outcome_.done[j] = !stopped_[j];
    stopped_[j] = false;
  }

  /// From what runs, not by adding back: what was reserved comes back to the last bit.
  void settle_links() {
    for (const auto edge : boost::make_iterator_range(boost::edges(graph_)))
      graph_[edge].free = graph_[edge].rate;
    for (const std::size_t j : running_) {
      const JobRun& run = outcome_.runs[j].back();
      for (std::size_t p = 0; p < run.reserved.size(); ++p)
        graph_[boost::edge(run.path[p].region, run.path[p + 1].region, graph_).first].free -=
            run.reserved[p];
    }
  }

  const JobsFile& file_;
  const JobsInstance& instance_;
  JobSteps& steps_;
  const JobPolicy& policy_;
  RegionGraph graph_;
  JobsOutcome outcome_;
  double clock_ = 0;
  std::size_t arrived_ = 0;
  std::vector<QueuedJob> queue_;
  std::vector<std::size_t> running_;
  std::vector<double> left_;  ///< by job: steps to do, without those of a run that goes on
  std::int64_t changes_ = 0;  ///< jobs that came or ended, devices that were reserved or came back
  std::vector<std::int64_t> stopping_;    ///< by job: `changes_` when it stopped others or itself
  std::vector<std::size_t> stopped_for_;  ///< by job: for whom it was stopped last
  std::vector<bool> waits_;               ///< by job: it is in the queue
  int stops_ = 0;
  std::vector<bool> stopped_;     ///< by job: it saves its state
  std::vector<int> held_, used_;  ///< by region: of reservations, of jobs
  std::vector<double> integral_;  ///< by region: device-seconds in use
};

}  // namespace

bool JobsOutcome::complete() const {
  return std::find(done.begin(), done.end(), false) == done.end();
}

JobsOutcome simulate_jobs(const JobsFile& file, const JobsInstance& instance, JobSteps& steps,
                          const JobPolicy& policy) {
  return Simulation(file, instance, steps, policy).run();
}

}  // namespace paceline::sim::jobs
