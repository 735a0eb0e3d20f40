// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/simulate_jobs.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "sim/jobs/job_laws.hpp"

namespace paceline::sim::jobs {
namespace {

using models::JobsFile;
using models::JobsInstance;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kJoulesPerKwh = 3.6e6, kSecondsPerHour = 3600, kBytesPerGb = 1e9;

class Simulation {
 public:
  Simulation(const JobsFile& file, const JobsInstance& instance, JobSteps& steps,
             const JobPolicy& policy)
      : file_(file), instance_(instance), steps_(steps), policy_(policy) {
    build_graph();
    outcome_.runs.resize(instance.jobs.size());
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
    finish_accounts();
    check_outcome(file_, instance_, outcome_, integral_);
    return std::move(outcome_);
  }

 private:
  void build_graph() {
    for (std::size_t r = 0; r < instance_.regions.size(); ++r) {
      const models::JobRegion& region = instance_.regions[r];
      const double power = file_.power.active * file_.power.pue;
      boost::add_vertex(RegionState{r, region.devices, region.devices,
                                    power * region.electricity / kJoulesPerKwh +
                                        region.device_hour / kSecondsPerHour},
                        graph_);
    }
    for (std::size_t a = 0; a < instance_.regions.size(); ++a) {
      for (std::size_t b = a + 1; b < instance_.regions.size(); ++b) {
        const models::JobLink& link = instance_.links[a][b];
        boost::add_edge(a, b, {link.rate.value, link.rate.value, link.latency.value}, graph_);
      }
    }
  }

  /// Devices that are reserved go over as far as they are free, and come back at the end.
  void settle_reservations() {
    for (std::size_t r = 0; r < held_.size(); ++r) {
      int wanted = 0;
      for (const models::Reservation& one : file_.reserved)
        if (one.region == r && one.from <= clock_ && clock_ < one.until) wanted += one.devices;
      const int change = std::min(wanted - held_[r], graph_[r].free);
      held_[r] += change;
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
    if (steps_.sizes(job.kind).empty()) return {j, job.arrives, 0, 0, 0};  // never starts
    const int most = steps_.sizes(job.kind).back();
    const StepCost alone = steps_.step(job.kind, {most}, {});
    const models::JobKind& kind = file_.kinds[job.kind];
    return {j, job.arrives, job.steps * alone.busy * kind.unit, job.steps * alone.seconds,
            kind.activation.value / steps_.stage_seconds(job.kind, most)};
  }

  std::vector<std::size_t> order() {
    std::vector<std::size_t> places(queue_.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    if (!policy_.priority) return places;
    const std::vector<double> priority = policy_.priority(queue_, congestion());
    PACELINE_CHECK(priority.size() == queue_.size());
    std::stable_sort(places.begin(), places.end(),
                     [&](std::size_t a, std::size_t b) { return priority[a] > priority[b]; });
    return places;
  }

  void start_jobs() {
    while (!queue_.empty() && start_one()) {
    }
  }

  /// The first of the queue that can start does; without backfill that is the first or none.
  bool start_one() {
    for (const std::size_t at : order()) {
      const std::size_t j = queue_[at].job;
      if (!steps_.sizes(instance_.jobs[j].kind).empty()) {
        const JobPath path = policy_.place(graph_, request_of(j));
        if (!path.empty()) {
          start(j, path);
          queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(at));
          return true;
        }
      }
      if (!file_.queue.backfill) return false;
    }
    return false;
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

  LinkState& link(std::size_t a, std::size_t b) { return graph_[boost::edge(a, b, graph_).first]; }

  /// A message has the whole link where the job finds what it demands, else what is left of it.
  static void reserve(LinkState& link, double bytes, JobRun& run) {
    PACELINE_CHECK(link.free > 0);
    const double rate = link.free >= run.demand ? link.rate : link.free;
    run.reserved.push_back(std::min(run.demand, link.free));
    run.hops.push_back({bytes / rate, link.latency});
    link.free -= run.reserved.back();
  }

  void start(std::size_t j, const JobPath& path) {
    check_path(graph_, path, request_of(j));
    const models::Job& job = instance_.jobs[j];
    const models::JobKind& kind = file_.kinds[job.kind];
    JobRun run;
    run.start = clock_;
    run.path = path;
    std::vector<int> parts;
    for (const PathPart& part : path) {
      parts.push_back(part.stages);
      graph_[part.region].free -= part.stages * kind.unit;
      used_[part.region] += part.stages * kind.unit;
    }
    const int stages = std::accumulate(parts.begin(), parts.end(), 0);
    run.demand = path.size() > 1
                     ? kind.activation.value / steps_.stage_seconds(job.kind, stages)
                     : 0;
    for (std::size_t p = 1; p < path.size(); ++p)
      reserve(link(path[p - 1].region, path[p].region), kind.activation.value, run);
    const StepCost step = steps_.step(job.kind, parts, run.hops);
    run.step_seconds = step.seconds;
    run.finish = clock_ + job.steps * step.seconds;
    account(job, step, stages, run);
    outcome_.runs[j] = run;
    running_.push_back(j);
  }

  void account(const models::Job& job, const StepCost& step, int stages, JobRun& run) {
    const models::JobKind& kind = file_.kinds[job.kind];
    const double seconds = run.finish - run.start;
    run.device_seconds = seconds * stages * kind.unit;
    const double busy = job.steps * step.busy * kind.unit;
    run.joules = busy * file_.power.active + (run.device_seconds - busy) * file_.power.idle;
    run.sent_bytes = job.steps * 2 * kind.microbatches * kind.activation.value *
                     static_cast<double>(run.hops.size());
    run.cost.egress = run.sent_bytes / kBytesPerGb * file_.egress;
    for (const PathPart& part : run.path) {
      // Devices of a job are taken to be busy alike, wherever they are.
      const double share = static_cast<double>(part.stages) / stages;
      const models::JobRegion& region = instance_.regions[part.region];
      const double electricity =
          share * run.joules * file_.power.pue / kJoulesPerKwh * region.electricity;
      const double rent = share * run.device_seconds / kSecondsPerHour * region.device_hour;
      run.cost.electricity += electricity;
      run.cost.rent += rent;
      RegionUse& use = outcome_.regions[part.region];
      use.device_seconds += share * run.device_seconds;
      use.joules += share * run.joules;
      use.cost += electricity + rent;
    }
  }

  double next_event() const {
    double next = kNever;
    if (arrived_ < instance_.jobs.size()) next = instance_.jobs[arrived_].arrives;
    for (const std::size_t j : running_) next = std::min(next, outcome_.runs[j]->finish);
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
      if (outcome_.runs[j]->finish > clock_) return false;
      release(j);
      return true;
    };
    running_.erase(std::remove_if(running_.begin(), running_.end(), ended), running_.end());
    settle_links();
    while (arrived_ < instance_.jobs.size() && instance_.jobs[arrived_].arrives <= clock_)
      queue_.push_back(queued(arrived_++));
  }

  void release(std::size_t j) {
    const int unit = file_.kinds[instance_.jobs[j].kind].unit;
    for (const PathPart& part : outcome_.runs[j]->path) {
      graph_[part.region].free += part.stages * unit;
      used_[part.region] -= part.stages * unit;
    }
  }

  /// From what runs, not by adding back: what was reserved comes back to the last bit.
  void settle_links() {
    for (const auto edge : boost::make_iterator_range(boost::edges(graph_)))
      graph_[edge].free = graph_[edge].rate;
    for (const std::size_t j : running_) {
      const JobRun& run = *outcome_.runs[j];
      for (std::size_t p = 0; p < run.reserved.size(); ++p)
        link(run.path[p].region, run.path[p + 1].region).free -= run.reserved[p];
    }
  }

  void finish_accounts() {
    const double first = instance_.jobs.front().arrives;
    for (const auto& run : outcome_.runs) {
      if (!run) continue;
      outcome_.makespan = std::max(outcome_.makespan, run->finish - first);
      outcome_.cost.electricity += run->cost.electricity;
      outcome_.cost.rent += run->cost.rent;
      outcome_.cost.egress += run->cost.egress;
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
  std::vector<int> held_, used_;  ///< by region: of reservations, of jobs
  std::vector<double> integral_;  ///< by region: device-seconds in use
};

}  // namespace

bool JobsOutcome::complete() const {
  return std::all_of(runs.begin(), runs.end(), [](const auto& run) { return run.has_value(); });
}

JobsOutcome simulate_jobs(const JobsFile& file, const JobsInstance& instance, JobSteps& steps,
                          const JobPolicy& policy) {
  return Simulation(file, instance, steps, policy).run();
}

}  // namespace paceline::sim::jobs
