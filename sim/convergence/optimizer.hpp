// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "sim/convergence/objective.hpp"

/// How weights follow gradients: the rules of base/numeric that kernels run, and more.
namespace paceline::sim::convergence {

struct OptimizerKind;

/// Settings that a rule does not use keep their value and mean nothing.
struct Optimizer {
  const OptimizerKind* kind = nullptr;
  double beta1 = 0.9, beta2 = 0.95, beta3 = 0.99;
  double momentum = 0.9;
  double epsilon = 1e-8;
  double decay = 0;   ///< decoupled weight decay, times the rate
  int refresh = 10;   ///< of SOAP: steps between two bases
  bool head = false;  ///< of Muon and SOAP: the head is one of their matrices too
};

/// Of the weights an optimizer has stepped so far.
struct OptimizerState {
  std::int64_t steps = 0;
  std::vector<std::vector<float>> slots;      ///< each as long as the weights
  std::vector<std::vector<double>> matrices;  ///< what rules that look at matrices keep
};

/// One step in place. `blocks` describe all of `weights`; an optimizer of matrices treats those of
/// Role::Matrix (and Role::Head where it is told to) and leaves the others to AdamW, Ember those of
/// tables and heads.
using StepFunction = void (*)(const Optimizer&, double rate, std::span<const Block> blocks,
                              OptimizerState&, std::span<const float> gradient,
                              std::span<float> weights);

struct OptimizerKind {
  std::string_view name, summary;
  Optimizer defaults;
  StepFunction step;
};
std::span<const OptimizerKind> optimizer_kinds();

#define PACELINE_OPTIMIZER(function, name, defaults, summary)                           \
  void function(const Optimizer&, double rate, std::span<const Block>, OptimizerState&, \
                std::span<const float> gradient, std::span<float> weights);
#include "sim/convergence/optimizers/list.def"
#undef PACELINE_OPTIMIZER

/// `{kind: NAME, beta1: ...}`.
Optimizer read_optimizer(base::Fields& fields);
Optimizer default_optimizer(std::string_view name);

/// The next step: counts it and calls the rule.
void step(const Optimizer& optimizer, double rate, std::span<const Block> blocks,
          OptimizerState& state, std::span<const float> gradient, std::span<float> weights);

/// Whether a rule for matrices takes the block.
inline bool takes_matrix(const Optimizer& optimizer, const Block& block) {
  return block.role == Role::Matrix || (optimizer.head && block.role == Role::Head);
}

/// The slots of a state, zeros where they were not there.
void need_slots(OptimizerState& state, std::size_t count, std::size_t size);

/// AdamW on one block, with slots 0 and 1.
void adamw_block(const Optimizer& optimizer, double rate, const Block& block, OptimizerState& state,
                 std::span<const float> gradient, std::span<float> weights);

}  // namespace paceline::sim::convergence
