// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/jobs/simulate_jobs.hpp"

namespace paceline::sim::jobs {
namespace {

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

std::optional<JobFigures> figures_of(const models::JobsInstance& instance,
                                     const JobsOutcome& outcome) {
  if (!outcome.complete()) return std::nullopt;
  constexpr double kJoulesPerKwh = 3.6e6;
  const auto count = static_cast<double>(instance.jobs.size());
  double queue = 0, run_time = 0, devices = 0, regions = 0, held = 0, joules = 0;
  std::vector<double> completion;
  for (std::size_t j = 0; j < outcome.runs.size(); ++j) {
    const JobRun& run = *outcome.runs[j];
    const double seconds = run.finish - run.start;
    completion.push_back(run.finish - instance.jobs[j].arrives);
    queue += run.start - instance.jobs[j].arrives;
    run_time += seconds;
    devices += seconds > 0 ? run.device_seconds / seconds : 0;
    regions += static_cast<double>(run.path.size());
    held += run.device_seconds;
    joules += run.joules;
  }
  double all = 0;
  for (const models::JobRegion& region : instance.regions) all += region.devices;
  const double offered = all * outcome.makespan;
  return JobFigures{std::accumulate(completion.begin(), completion.end(), 0.0) / count,
                    median_of(completion),
                    queue / count,
                    run_time / count,
                    outcome.cost.total(),
                    joules / kJoulesPerKwh,
                    offered > 0 ? held / offered : 0,
                    outcome.makespan,
                    devices / count,
                    regions / count};
}

}  // namespace paceline::sim::jobs
