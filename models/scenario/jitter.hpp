// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/config.hpp"

/// `jitter` of a scenario: how much the times of single tasks vary from step to step. What becomes
/// of a task's time is in sim/jitter.hpp.
namespace paceline::models {

/// A factor on a time: lognormal x tail x trace.
struct JitterLaw {
  /// Of the logarithm; the lognormal factor exp(sigma z - sigma^2 / 2) has mean 1.
  double sigma = 0;
  /// With this probability the task takes `tail_factor` U^(-1/shape) times as long, U uniform in
  /// (0, 1]: a Pareto law that begins at tail_factor. On top of the mean, which it raises.
  double tail_probability = 0;
  double tail_factor = 1;
  double tail_shape = 3;      ///< above 1, so that there is a mean
  std::vector<double> trace;  ///< measured factors, taken one after another; empty: none
  bool random() const { return sigma > 0 || tail_probability > 0 || !trace.empty(); }
};

/// A rank whose compute always takes `factor` times as long.
struct Straggler {
  int rank = 0;
  double factor = 1;
};

struct Jitter {
  JitterLaw compute;  ///< kernels and optimizer steps
  JitterLaw links;    ///< messages, collectives and copies
  std::vector<Straggler> stragglers;
  std::uint64_t seed = 1;
  int repetitions = 200;  ///< steps simulated
  bool random() const { return compute.random() || links.random(); }
};

/// `world_size` ranks exist; trace files lie relative to `folder`. Throws base::Error.
Jitter read_jitter(base::Fields fields, const std::string& folder, int world_size);

}  // namespace paceline::models
