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
    const std::vector<JobRun>& runs = outcome.runs[j];
    const double whole = runs.back().finish - instance.jobs[j].arrives;
    double seconds = 0, of_job = 0;
    for (const JobRun& run : runs) {
      seconds += run.finish - run.start;
      of_job += run.device_seconds;
      joules += run.joules;
      regions += static_cast<double>(run.path.size()) / static_cast<double>(runs.size());
    }
    completion.push_back(whole);
    queue += whole - seconds;
    run_time += seconds;
    devices += seconds > 0 ? of_job / seconds : 0;
    held += of_job;
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
