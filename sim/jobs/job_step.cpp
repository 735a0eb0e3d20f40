// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/job_step.hpp"

#include <algorithm>
#include <exception>
#include <numeric>

#include "base/error.hpp"
#include "models/scenario/schedule_choice.hpp"
#include "sim/engine/reference.hpp"
#include "sim/jobs/job_graph.hpp"
#include "sim/jobs/job_scenario.hpp"

namespace paceline::sim::jobs {
namespace {

/// The share of the model that a stage holds.
double share(const models::JobKind& kind, int stage, int stages) {
  if (kind.layers == 0) return 1.0 / stages;
  const int layers = kind.layers / stages + (stage < kind.layers % stages ? 1 : 0);
  return static_cast<double>(layers) / kind.layers;
}

double stage_work(const models::JobKind& kind, int stage, int stages) {
  return (stage_forward(kind, stage, stages) + stage_backward(kind, stage, stages)).value;
}

double all_work(const models::JobKind& kind, int stages) {
  double sum = 0;
  for (int s = 0; s < stages; ++s) sum += stage_work(kind, s, stages);
  return sum;
}

/// A step has to fit into memory.
void check_size(const models::JobKind& kind, int most) {
  constexpr std::int64_t kMostPasses = 1 << 22;
  if (std::int64_t{kind.microbatches} * most <= kMostPasses) return;
  throw base::Error(kind.where,
                    std::to_string(kind.microbatches) + " microbatches on up to " +
                        std::to_string(most) + " stages are too many to simulate",
                    "fewer microbatches, or `most` stages: their product is " +
                        std::to_string(kMostPasses) + " at most");
}

/// Of all numbers of stages whose fullest stage holds the same layers the smallest: the others have
/// more of a bubble and nothing for it.
std::vector<int> candidates(const models::JobKind& kind, int most) {
  std::vector<int> sizes;
  for (int k = kind.least; k <= most; ++k) {
    const auto fullest = [&](int stages) { return (kind.layers + stages - 1) / stages; };
    if (kind.layers == 0 || k == kind.least || fullest(k) < fullest(k - 1)) sizes.push_back(k);
  }
  return sizes;
}

std::vector<double> key_of(std::size_t kind, const std::vector<int>& parts,
                           const std::vector<Hop>& hops) {
  std::vector<double> key{static_cast<double>(kind)};
  for (const int stages : parts) key.push_back(stages);
  for (const Hop& hop : hops) {
    key.push_back(hop.seconds);
    key.push_back(hop.latency);
  }
  return key;
}

/// Hops between stages, from those between parts.
std::vector<Hop> by_boundary(const std::vector<int>& parts, const std::vector<Hop>& hops) {
  std::vector<Hop> all;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (p > 0) all.push_back(hops[p - 1]);
    all.insert(all.end(), static_cast<std::size_t>(parts[p] - 1), Hop{});
  }
  return all;
}

}  // namespace

base::Seconds stage_forward(const models::JobKind& kind, int stage, int stages) {
  return kind.forward * share(kind, stage, stages) + kind.overhead;
}

base::Seconds stage_backward(const models::JobKind& kind, int stage, int stages) {
  return kind.backward * share(kind, stage, stages) + kind.overhead;
}

double step_bound(const models::JobKind& kind, int stages) {
  const models::ScheduleTraits* traits = models::schedule_traits(kind.schedule);
  const bool split = traits != nullptr && traits->splits_backward;
  double before = 0, bound = 0;
  for (int s = 0; s < stages; ++s) {
    bound = std::max(bound, before + kind.microbatches * stage_work(kind, s, stages));
    // Where W is apart, the stage still does it while those before do their last B.
    before += split ? stage_forward(kind, s, stages).value : stage_work(kind, s, stages);
  }
  return bound;
}

JobSteps::JobSteps(const models::JobsFile& file, int most_devices) : kinds_(file.kinds) {
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    models::JobKind& kind = kinds_[k];
    const int most = std::min({kind.most, most_devices / kind.unit, models::kMaxStages});
    if (!kind.scenario) {
      check_job_schedule(kind);
      check_size(kind, most);
    }
    sizes_.push_back(worth_having(k, most));
  }
}

// Empty where no number of stages that the regions have is possible: such jobs never start. A
// candidate is simulated only where its bound leaves the question open: for 1F1B and GPipe on even
// stages the bound is the answer, and one simulation is enough.
std::vector<int> JobSteps::worth_having(std::size_t k, int most) {
  const models::JobKind& kind = kinds_[k];
  std::vector<int> sizes = candidates(kind, most);
  std::vector<int> open = sizes;
  if (!kind.scenario)
    std::stable_sort(open.begin(), open.end(),
                     [&](int a, int b) { return step_bound(kind, a) < step_bound(kind, b); });
  std::map<int, double> seconds;
  double best = 0;
  std::exception_ptr refused;
  for (const int stages : open) {
    if (best > 0 && !kind.scenario && step_bound(kind, stages) >= best) break;
    try {
      const double time = step(k, {stages}, {}).seconds;
      if (!(time > 0)) continue;  // does not fit
      seconds[stages] = time;
      if (!(best > 0) || time < best) best = time;
    } catch (const base::Error&) {  // does not divide so, or no schedule for so few microbatches
      refused = std::current_exception();
    }
  }
  if (seconds.empty() && refused) std::rethrow_exception(refused);
  int fastest = 0;
  for (const auto& [stages, time] : seconds)
    if (fastest == 0 || time < seconds.at(fastest)) fastest = stages;
  const auto useless = [&](int stages) {
    return stages > fastest || (kind.scenario && seconds.count(stages) == 0);
  };
  sizes.erase(std::remove_if(sizes.begin(), sizes.end(), useless), sizes.end());
  return sizes;
}

double JobSteps::stage_seconds(std::size_t k, int stages) {
  const models::JobKind& kind = kinds_[k];
  if (!kind.scenario) return stage_work(kind, 0, stages);  // the first has the most layers
  return step(k, {stages}, {}).seconds / (kind.microbatches + stages - 1);
}

StepCost JobSteps::run(const models::JobKind& kind, const std::vector<int>& parts,
                       const std::vector<Hop>& hops) const {
  if (kind.scenario) return scenario_step(kind, parts, hops);
  const int stages = std::accumulate(parts.begin(), parts.end(), 0);
  const double busy = kind.microbatches * all_work(kind, stages);
  thread_local Workspace workspace;  // and graph: built again and again, allocated once
  thread_local TaskGraph graph;
  job_graph(kind, job_program(kind, stages), by_boundary(parts, hops), graph);
  return {run_reference(graph, workspace).makespan, busy};
}

StepCost JobSteps::step(std::size_t k, const std::vector<int>& parts,
                        const std::vector<Hop>& hops) {
  PACELINE_CHECK(!parts.empty() && hops.size() + 1 == parts.size());
  const std::vector<double> key = key_of(k, parts, hops);
  {
    const std::lock_guard guard(lock_);
    ++asked_;
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
  }
  const StepCost cost = run(kinds_[k], parts, hops);
  const std::lock_guard guard(lock_);
  known_.emplace(key, cost);
  return cost;
}

}  // namespace paceline::sim::jobs
