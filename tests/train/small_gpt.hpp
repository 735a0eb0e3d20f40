// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "kernels/train/executor.hpp"

/// Training runs small enough for tests.
namespace paceline::tests {

/// A GPT of 4 layers, hidden 32, 4 heads, on 8 microbatches of one sequence of 16 bytes; `more`
/// adds keys or, where it repeats one, replaces it.
models::Scenario small_scenario(const std::string& more);

/// What a run of some steps did, as far as this rank knows.
struct Trained {
  std::vector<double> losses;
  struct Part {
    kernels::train::Parameter parameter;
    std::vector<float> values;
  };
  /// By update and name; a matrix that both ends of a pipeline hold stands once.
  std::map<std::pair<int, std::string>, Part> gradients;
  std::map<std::string, Part> weights;  ///< in the end
};
Trained train(const models::Scenario& scenario, const kernels::Communicator& world, int steps,
              std::uint64_t seed = 1);
/// The same with an order of one's own.
Trained train(const models::Scenario& scenario, const sim::Program& program,
              const kernels::Communicator& world, int steps, std::uint64_t seed = 1);

/// One process, step by step without schedule, executor or messages: the gradient of step t is
/// taken at the weights before update t - `delay`, and applied to the latest.
Trained train_late(const models::Scenario& scenario, int steps, int delay, std::uint64_t seed = 1);

/// The largest |a - b| over both runs, as a share of the root mean square of the whole gradient (or
/// parameter) of `whole`; parts of a tensor-parallel rank are compared with theirs. Fails where one
/// has something that the other lacks.
double worst_gradient(const Trained& part, const Trained& whole);
double worst_weight(const Trained& part, const Trained& whole);
double worst_loss(const Trained& a, const Trained& b);

}  // namespace paceline::tests
