// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/convergence/codec.hpp"
#include "sim/convergence/experiment.hpp"
#include "sim/convergence/method.hpp"

namespace paceline::sim::convergence {
namespace {

struct MaskOverlap {
  ObjectiveMaker objective;
  Optimizer optimizer;
  int steps = 150, skip = 50, batch = 32;
  double rate = 0.01, keep = 0.1;
};

double shared(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
  std::vector<std::uint32_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return static_cast<double>(both.size()) / static_cast<double>(a.size());
}

/// The mask of one statistic from step to step.
struct Track {
  const char* name;
  double beta;  ///< 0: the gradient itself
  std::vector<float> mean = {};
  std::vector<std::uint32_t> mask = {};
  double sum = 0;

  void follow(std::span<const float> gradient, std::size_t count, bool counts) {
    mean.resize(gradient.size(), 0.0F);
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] = static_cast<float>(beta * static_cast<double>(mean[i]) +
                                   (1 - beta) * static_cast<double>(gradient[i]));
    std::vector<std::uint32_t> next = largest(mean, count);
    if (counts) sum += shared(mask, next);
    mask = std::move(next);
  }
};

Figures overlap(const MaskOverlap& o, std::uint64_t seed, const std::atomic<bool>& stop) {
  const Objective f = o.objective(seed);
  std::vector<float> weights = f.start, gradient(f.size());
  OptimizerState state;
  Track tracks[] = {{"gradient", 0}, {"momentum_90", 0.9}, {"momentum_95", 0.95}};
  const std::size_t count = kept_count(o.keep, f.size());
  for (int k = 0; k < o.steps && !stop.load(); ++k) {
    const auto number = static_cast<std::uint64_t>(k);
    noisy_gradient(f, weights, weights, draw_batch(f, seed, number, o.batch), seed, number,
                   gradient);
    for (Track& track : tracks) track.follow(gradient, count, k > o.skip);
    step(o.optimizer, o.rate, f.blocks, state, gradient, weights);
  }
  Figures figures;
  for (const Track& track : tracks)
    figures.emplace_back(track.name, track.sum / (o.steps - o.skip - 1));
  return figures;
}

}  // namespace

// Shares of the `keep` largest entries of a gradient, and of its moving average, that are among
// those of the next step, after the first `skip` steps of a training run.
Experiment read_mask_overlap(base::Fields& fields) {
  MaskOverlap o;
  base::Fields objective = fields.map("objective");
  o.objective = read_objective(objective);
  objective.done();
  base::Fields optimizer = fields.map("optimizer");
  o.optimizer = read_optimizer(optimizer);
  optimizer.done();
  o.skip = static_cast<int>(fields.integer("skip", 0, 1'000'000, o.skip));
  o.steps = static_cast<int>(fields.integer("steps", o.skip + 2, 2'000'000, o.skip + 100));
  o.batch = static_cast<int>(fields.integer("batch", 1, 1'000'000, o.batch));
  o.rate = fields.number("rate", 1e-12, 1e6, o.rate);
  o.keep = read_share(fields, "keep", o.keep);
  return [o](std::uint64_t seed, const std::atomic<bool>& stop) { return overlap(o, seed, stop); };
}

}  // namespace paceline::sim::convergence
