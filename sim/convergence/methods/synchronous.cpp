// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "sim/convergence/exchange.hpp"
#include "sim/convergence/method.hpp"

namespace paceline::sim::convergence {
namespace {

struct Synchronous {
  int workers = 1;
  bool sorted = false;
  ExchangeOptions exchange;
};

Run run_synchronous(const Synchronous& s, const Objective& f, const Optimizer& optimizer,
                    const Training& t, const std::atomic<bool>& stop) {
  const auto workers = static_cast<std::size_t>(s.workers);
  const auto parts = shards(f, s.workers, s.sorted);
  std::vector<float> weights = f.start;
  std::vector<std::vector<float>> gradients(workers, std::vector<float>(f.size()));
  Exchange exchange(s.exchange, f, t.seed, workers);
  OptimizerState state;
  Watch watch(f, t, t.steps, stop);
  double bytes = 0;
  for (std::int64_t k = 0; k < t.steps; ++k) {
    double loss = 0;
    for (std::size_t w = 0; w < workers; ++w) {
      const std::uint64_t number = static_cast<std::uint64_t>(k) * workers + w;
      const Batch batch = draw_batch(parts[w], t.seed, number, t.batch);
      loss += noisy_gradient(f, weights, weights, batch, t.seed, number, gradients[w]) /
              static_cast<double>(workers);
      clip_norm(gradients[w], t.clip);
    }
    bytes += exchange.mean(gradients, loss);
    step(optimizer, rate_at(t.schedule, t.rate, k, t.steps), f.blocks, state, exchange.result(),
         weights);
    if (f.retract) f.retract(weights);
    if (!watch.after(k + 1, loss, bytes, weights)) break;
  }
  Run run = watch.finish(t.steps, bytes, weights);
  run.exchanges = workers > 1 ? static_cast<double>(t.steps) : 0;
  for (auto& figure : exchange.figures()) run.extra.push_back(std::move(figure));
  return run;
}

}  // namespace

Method read_synchronous(base::Fields& fields) {
  Synchronous s;
  s.workers = static_cast<int>(fields.integer("workers", 1, 255, 1));
  s.sorted = fields.flag("sorted", false);
  s.exchange = read_exchange(fields);
  return [s](const Objective& f, const Optimizer& o, const Training& t,
             const std::atomic<bool>& stop) { return run_synchronous(s, f, o, t, stop); };
}

}  // namespace paceline::sim::convergence
