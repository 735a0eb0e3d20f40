// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "models/jobs/jobs_file.hpp"
#include "sim/jobs/placement.hpp"

/// The inner simulation: how long a step of a job takes on a path of regions.
namespace paceline::sim::jobs {

struct StepCost {
  double seconds = 0;
  double busy = 0;  ///< s of computing, summed over stages
};

/// What a message between two parts of a path takes: its sender's link is busy for `seconds`, and
/// it arrives `latency` later.
struct Hop {
  double seconds = 0, latency = 0;
  bool operator==(const Hop&) const = default;
};

/// Steps of the kinds of a file, each simulated once: the Program of the job's schedule, its
/// TaskGraph and the reference engine, or for kinds with a scenario the whole of `predict`. The
/// update of the weights is left out of kinds without a scenario. Threads may share one.
class JobSteps {
 public:
  /// `most_devices`: of all regions together. Throws base::Error at the kind for a schedule that a
  /// job cannot have, or a scenario that fits on no number of stages.
  JobSteps(const models::JobsFile& file, int most_devices);

  /// Numbers of stages worth having: PlacementRequest::sizes.
  const std::vector<int>& sizes(std::size_t kind) const { return sizes_[kind]; }
  /// Seconds that the slowest of so many stages computes for a microbatch; of a scenario, its step
  /// over slots of the pipeline.
  double stage_seconds(std::size_t kind, int stages);
  /// `hops` has one entry for each two neighbours of `parts`, stages by region in pipeline order.
  StepCost step(std::size_t kind, const std::vector<int>& parts, const std::vector<Hop>& hops);
  /// Different steps simulated, and steps asked for.
  std::int64_t simulated() const { return static_cast<std::int64_t>(known_.size()); }
  std::int64_t asked() const { return asked_; }

 private:
  std::vector<int> worth_having(std::size_t kind, int most);
  StepCost run(const models::JobKind& kind, const std::vector<int>& parts,
               const std::vector<Hop>& hops) const;

  std::vector<models::JobKind> kinds_;
  std::vector<std::vector<int>> sizes_;
  std::mutex lock_;
  std::map<std::vector<double>, StepCost> known_;  ///< by kind, parts and hops
  std::int64_t asked_ = 0;
};

/// Seconds of one microbatch, forward and backward, on stage `stage` of `stages`.
base::Seconds stage_forward(const models::JobKind& kind, int stage, int stages);
base::Seconds stage_backward(const models::JobKind& kind, int stage, int stages);

/// No step is shorter: the busiest stage works on every microbatch, after the first has come down
/// to it, and the last goes back up.
double step_bound(const models::JobKind& kind, int stages);

}  // namespace paceline::sim::jobs
