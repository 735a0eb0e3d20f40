// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/job_laws.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.hpp"

namespace paceline::sim::jobs {
namespace {

bool same(double a, double b) {
  return std::fabs(a - b) <= 1e-9 * std::max({std::fabs(a), std::fabs(b), 1e-9});
}

const JobRun* running_at(const std::vector<JobRun>& runs, double at) {
  const auto after = std::upper_bound(runs.begin(), runs.end(), at,
                                      [](double t, const JobRun& run) { return t < run.start; });
  if (after == runs.begin() || !(at < std::prev(after)->finish)) return nullptr;
  return &*std::prev(after);
}

/// At the start of every run: who runs holds no more of a region, or of a link, than there is.
void check_shares(const models::JobsFile& file, const models::JobsInstance& instance,
                  const JobsOutcome& outcome, double at) {
  const std::size_t count = instance.regions.size();
  std::vector<int> devices(count, 0);
  std::vector<double> rate(count * count, 0);
  for (std::size_t j = 0; j < outcome.runs.size(); ++j) {
    const JobRun* run = running_at(outcome.runs[j], at);
    if (run == nullptr) continue;
    for (std::size_t p = 0; p < run->path.size(); ++p) {
      const std::size_t here = run->path[p].region;
      devices[here] += run->path[p].stages * file.kinds[instance.jobs[j].kind].unit;
      if (p == 0) continue;
      const std::size_t before = run->path[p - 1].region;
      rate[std::min(here, before) * count + std::max(here, before)] += run->reserved[p - 1];
    }
  }
  for (std::size_t a = 0; a < count; ++a) {
    PACELINE_CHECK(devices[a] <= instance.regions[a].devices);
    for (std::size_t b = a + 1; b < count; ++b)
      PACELINE_CHECK(rate[a * count + b] <= instance.links[a][b].rate.value * (1 + 1e-9));
  }
}

}  // namespace

void check_path(const RegionGraph& graph, const JobPath& path, const PlacementRequest& request) {
  int stages = 0;
  for (std::size_t p = 0; p < path.size(); ++p) {
    const PathPart& part = path[p];
    PACELINE_CHECK(part.region < boost::num_vertices(graph));
    PACELINE_CHECK(part.stages > 0 && part.stages <= free_stages(graph[part.region], request));
    for (std::size_t q = 0; q < p; ++q) PACELINE_CHECK(path[q].region != part.region);
    PACELINE_CHECK(p == 0 || link_between(graph, path[p - 1].region, part.region) != nullptr);
    stages += part.stages;
  }
  PACELINE_CHECK(stages > 0 && request.usable(stages) == stages);
}

void check_outcome(const models::JobsFile& file, const models::JobsInstance& instance,
                   const JobsOutcome& outcome, const std::vector<double>& integral) {
  PACELINE_CHECK(outcome.runs.size() == instance.jobs.size());
  double total = 0;
  for (std::size_t j = 0; j < outcome.runs.size(); ++j) {
    double last = instance.jobs[j].arrives, steps = 0;
    for (const JobRun& run : outcome.runs[j]) {
      PACELINE_CHECK(run.start >= last && run.finish >= run.start);
      last = run.finish;
      steps += run.steps;
      check_shares(file, instance, outcome, run.start);
      total += run.cost.total();
    }
    PACELINE_CHECK(!outcome.done[j] || same(steps, instance.jobs[j].steps));
  }
  PACELINE_CHECK(same(total, outcome.cost.total()));
  double of_regions = outcome.cost.egress;
  for (std::size_t r = 0; r < integral.size(); ++r) {
    PACELINE_CHECK(same(integral[r], outcome.regions[r].device_seconds));
    of_regions += outcome.regions[r].cost;
  }
  PACELINE_CHECK(same(of_regions, outcome.cost.total()));
}

}  // namespace paceline::sim::jobs
