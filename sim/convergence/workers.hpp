// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "sim/convergence/method.hpp"

/// Workers that train alone for a while.
namespace paceline::sim::convergence {

struct Worker {
  std::vector<float> weights;
  OptimizerState state;
};

/// What all of them share.
struct WorkerTeam {
  const Objective* objective;
  const Optimizer* optimizer;
  const Training* training;
  std::vector<std::vector<std::uint32_t>> parts;  ///< samples, by worker
  std::int64_t total = 0;                         ///< steps of the rate's schedule
  std::vector<Worker> workers;
};

WorkerTeam make_team(const Objective& f, const Optimizer& optimizer, const Training& t, int workers,
                     bool sorted, std::int64_t total);
/// Step `k` (from 0) of worker `w`; the loss of its batch.
double local_step(WorkerTeam& team, std::size_t w, std::int64_t k);
std::vector<float> mean_weights(const WorkerTeam& team);

}  // namespace paceline::sim::convergence
