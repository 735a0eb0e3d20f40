// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/job_account.hpp"

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

}  // namespace

void account(const models::JobsFile& file, const models::JobsInstance& instance, std::size_t job,
             const StepCost& step, JobsOutcome& outcome) {
  const models::JobKind& kind = file.kinds[instance.jobs[job].kind];
  JobRun& run = outcome.runs[job].back();
  int stages = 0;
  for (const PathPart& part : run.path) stages += part.stages;
  run.device_seconds = (run.finish - run.start) * stages * kind.unit;
  const double busy = run.steps * step.busy * kind.unit;
  run.joules = busy * file.power.active + (run.device_seconds - busy) * file.power.idle;
  run.sent_bytes = bytes_between_regions(kind, outcome.runs[job]);
  run.cost.egress = run.sent_bytes / kBytesOfGb * file.egress;
  for (const PathPart& part : run.path) {
    const double share = static_cast<double>(part.stages) / stages;
    const models::JobRegion& region = instance.regions[part.region];
    const double electricity =
        share * run.joules * file.power.pue / kJoulesOfKwh * region.electricity;
    const double rent = share * run.device_seconds / kSecondsOfHour * region.device_hour;
    run.cost.electricity += electricity;
    run.cost.rent += rent;
    RegionUse& use = outcome.regions[part.region];
    use.device_seconds += share * run.device_seconds;
    use.joules += share * run.joules;
    use.cost += electricity + rent;
  }
}

}  // namespace paceline::sim::jobs
