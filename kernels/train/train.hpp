// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/backend.hpp"
#include "kernels/collective/communicator.hpp"
#include "kernels/train/optimizer.hpp"
#include "models/parallel/plan.hpp"
#include "sim/program.hpp"

/// Trains a small GPT, really, through the schedule and layout of a scenario: every rank runs the
/// actions of its order, activations and gradients travel as messages, tensor- and data-parallel
/// groups sum. Everything is in fp32. The numbers depend on the scenario, the text and the seed;
/// the layout changes them by rounding only.
namespace paceline::kernels::train {

struct TrainOptions {
  int steps = 20;          ///< updates of the weights; rounded up to whole runs of the Program
  std::uint64_t seed = 1;  ///< of initial weights and of the order of the text
  std::string text;        ///< bytes to learn from; empty: bundled_text()
  std::string text_name = "text";  ///< begins messages about it
  Optimizer optimizer;             ///< rule and decay follow the scenario: see optimizer_of
};

/// adamw, adam (without decay) and sgd, as scenario.optimizer names them, with usual settings.
/// base::Error for others.
Optimizer optimizer_of(const models::Scenario& scenario);

struct TrainStep {
  int step = 0;        ///< from 1
  double loss = 0;     ///< mean over the step's tokens, in nats, before its update
  double seconds = 0;  ///< of this rank: of the run of the Program, divided by its updates
};

struct TrainResult {
  std::vector<TrainStep> steps;
  double tokens_per_step = 0;
};

/// What is run for `steps` updates: the scenario's schedule (sim::make_program), and of one without
/// a flush the whole run with all its updates. Run the result with train_gpt.
sim::Program training_program(const models::Scenario& scenario, const models::Plan& plan,
                              int steps);

/// Every rank of `world`, as many as the plan has, calls it with the same arguments; `world` takes
/// memory of `backend` (MPI or self: cpu; NCCL: cuda). `on_step` is called on every rank after each
/// run of the Program. The same result on all ranks, but for the seconds.
///
/// base::Error in one line: another number of ranks; a model, layout or schedule that cannot be
/// trained (gpt_shape, check_trainable); a text that is too short; too little memory; a loss that
/// is not a number. base::MissingError where the backend lacks a kernel.
TrainResult train_gpt(const models::Scenario& scenario, const models::Plan& plan,
                      const sim::Program& program, const Communicator& world,
                      const Backend& backend, const TrainOptions& options,
                      const std::function<void(const TrainStep&)>& on_step = {});

}  // namespace paceline::kernels::train
