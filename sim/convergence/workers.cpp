// SPDX-License-Identifier: Apache-2.0
#include "sim/convergence/workers.hpp"

namespace paceline::sim::convergence {

WorkerTeam make_team(const Objective& f, const Optimizer& optimizer, const Training& t, int workers,
                     bool sorted, std::int64_t total) {
  WorkerTeam team{&f, &optimizer, &t, shards(f, workers, sorted), total, {}};
  team.workers.assign(static_cast<std::size_t>(workers), Worker{f.start, {}});
  return team;
}

double local_step(WorkerTeam& team, std::size_t w, std::int64_t k) {
  const Objective& f = *team.objective;
  const Training& t = *team.training;
  Worker& worker = team.workers[w];
  std::vector<float> gradient(f.size());
  const std::uint64_t number = static_cast<std::uint64_t>(k) * team.workers.size() + w;
  const Batch batch = draw_batch(team.parts[w], t.seed, number, t.batch);
  const double loss =
      noisy_gradient(f, worker.weights, worker.weights, batch, t.seed, number, gradient);
  clip_norm(gradient, t.clip);
  step(*team.optimizer, rate_at(t.schedule, t.rate, k, team.total), f.blocks, worker.state,
       gradient, worker.weights);
  if (f.retract) f.retract(worker.weights);
  return loss;
}

std::vector<float> mean_weights(const WorkerTeam& team) {
  std::vector<float> mean(team.objective->size());
  const double share = 1 / static_cast<double>(team.workers.size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (const Worker& worker : team.workers) sum += static_cast<double>(worker.weights[i]);
    mean[i] = static_cast<float>(share * sum);
  }
  return mean;
}

}  // namespace paceline::sim::convergence
