// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/job_account.hpp"

#include <algorithm>

namespace paceline::sim::jobs {
namespace {

constexpr double kJoulesOfKwh = 3.6e6, kSecondsOfHour = 3600, kBytesOfGb = 1e9;

/// Activations both ways over every hop, and the state where it came from another region.
double bytes_between_regions(const models::JobKind& kind, const std::vector<JobRun>& runs) {
  const JobRun& run = runs.back();
  const bool came =
      runs.size() > 1 && runs[runs.size() - 2].path.front().region != run.path.front().region;
  return run.steps * 2 * kind.microbatches * kind.activation.value *
             static_cast<double>(run.hops.size()) +
         (came ? kind.state.value : 0);
}

/// W of a device at work, as the kind's scenario lets it draw.
double active_watts(const models::JobsFile& file, const models::JobKind& kind) {
  const double watts = file.power.active * kind.power_share;
  return kind.cap > 0 ? std::min(watts, kind.cap) : watts;
}

}  // namespace

void account(const models::JobsFile& file, const models::JobsInstance& instance, std::size_t job,
             const StepCost& step, JobsOutcome& outcome) {
  const models::JobKind& kind = file.kinds[instance.jobs[job].kind];
  JobRun& run = outcome.runs[job].back();
  int stages = 0;
  for (const PathPart& part : run.path) stages += part.stages;
  run.device_seconds = (run.finish - run.start) * stages * kind.unit;
  const double busy = run.steps * step.busy * kind.unit;
  const double active = active_watts(file, kind);
  const double idle = std::min(file.power.idle, active);
  run.joules = busy * active + (run.device_seconds - busy) * idle;
  run.sent_bytes = bytes_between_regions(kind, outcome.runs[job]);
  run.cost.egress = run.sent_bytes / kBytesOfGb * file.egress;
  for (const PathPart& part : run.path) {
    const double share = static_cast<double>(part.stages) / stages;
    const models::JobRegion& region = instance.regions[part.region];
    // As `run` charges them: the rent of a device has its electricity in it.
    const double electricity = region.device_hour > 0 ? 0
                                                      : share * run.joules * file.power.pue /
                                                            kJoulesOfKwh * region.electricity;
    const double rent = share * run.device_seconds / kSecondsOfHour * region.device_hour;
    run.cost.electricity += electricity;
    run.cost.rent += rent;
    RegionUse& use = outcome.regions[part.region];
    use.device_seconds += share * run.device_seconds;
    use.joules += share * run.joules;
    use.cost += electricity + rent;
  }
}

void sum_up(const models::JobsInstance& instance, JobsOutcome& outcome) {
  const double first = instance.jobs.front().arrives;
  for (const auto& runs : outcome.runs) {
    for (const JobRun& run : runs) {
      outcome.makespan = std::max(outcome.makespan, run.finish - first);
      outcome.cost.electricity += run.cost.electricity;
      outcome.cost.rent += run.cost.rent;
      outcome.cost.egress += run.cost.egress;
    }
  }
}

RegionGraph region_graph(const models::JobsFile& file, const models::JobsInstance& instance) {
  RegionGraph graph;
  const double watts = file.power.active * file.power.pue;
  for (std::size_t r = 0; r < instance.regions.size(); ++r) {
    const models::JobRegion& region = instance.regions[r];
    const double price = region.device_hour > 0 ? region.device_hour / kSecondsOfHour
                                                : watts * region.electricity / kJoulesOfKwh;
    boost::add_vertex(RegionState{r, region.devices, region.devices, price}, graph);
  }
  for (std::size_t a = 0; a < instance.regions.size(); ++a) {
    for (std::size_t b = a + 1; b < instance.regions.size(); ++b) {
      const models::JobLink& link = instance.links[a][b];
      boost::add_edge(a, b, {link.rate.value, link.rate.value, link.latency.value}, graph);
    }
  }
  return graph;
}

}  // namespace paceline::sim::jobs
