// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/parallel/plan.hpp"
#include "models/scenario/scenario.hpp"

namespace paceline::models {

/// Bytes of one stage on one of its ranks.
struct StageMemory {
  /// weights in the compute precision (16 bit; fp32 when precision is fp32)
  double parameters = 0;
  double gradients = 0;   ///< what stays allocated through the step
  double optimizer = 0;   ///< master weights and moments, after sharding
  double activation = 0;  ///< of one microbatch, held from its forward to its backward
  double kept_for_weights =
      0;  ///< of one microbatch, held from the input gradient to the weight gradient
  double checkpoint = 0;  ///< input of the stage: all that stays where the whole stage recomputes
  double logits = 0;      ///< head only: held while the loss and its gradient are computed
  double workspace = 0;   ///< held while a pass of the stage runs: the layer being recomputed,
                          ///< gathered weights, gradient buffers
};

/// Stored activations of one layer and microbatch on one rank, in bytes (Korthikanti et al. 2022,
/// eq. 1-6, written per tensor so that GQA, gated MLPs, flash attention and eager norms follow):
/// per token 2(4h + 2q + 2kv + (g+1) ffn) and 2h of dropout masks; the norm and block inputs and
/// masks are sharded over tp only with sequence parallelism; stored scores cost 5 B each with
/// dropout and 4 B without (fused softmax), 10 B when eager; flash kernels keep 8 B per head and
/// token.
double activation_bytes(const Scenario& scenario, const Layer& layer);
/// What the weight gradients of a layer need once its input gradient has run: inputs and output
/// gradients of every linear layer, 16 s b h bytes of each for a GPT layer (Qi et al. 2023, "Zero
/// Bubble Pipeline Parallelism", table 1).
double weight_gradient_bytes(const Scenario& scenario, const Layer& layer);
/// Whether the i-th layer of a stage runs its forward again before its backward.
bool recomputes(const Scenario& scenario, int i);
/// What stays of a layer that is recomputed: its 16-bit input.
double checkpoint_bytes(const Scenario& scenario);

/// Parameters a rank of this stage holds: layers, embedding and head over tp, routed experts over
/// ep and etp.
double stage_parameters(const Scenario& scenario, const Stage& stage);
HeldParameters held_parameters(const Scenario& scenario, const Stage& stage);
/// Ranks that hold the same parameters and share what ZeRO deals out: of dense ones, of experts.
struct DataRanks {
  double dense = 1, experts = 1;
};
DataRanks data_ranks(const Scenario& scenario);
/// The same where ZeRO shards: the ranks of one set of shards.
DataRanks shard_ranks(const Scenario& scenario);
/// Of the linear layers only, as papers count: 12 h^2 per GPT layer, over tp.
double stage_matrix_parameters(const Scenario& scenario, const Stage& stage);

StageMemory stage_memory(const Scenario& scenario, const Plan& plan, const Stage& stage);

/// Bytes per parameter: weights, gradients and optimizer state before any sharding.
struct StateBytes {
  double weight, gradient, optimizer;
};
StateBytes state_bytes(const Scenario& scenario);

/// Optimizer states of the token tables of a stage on a rank, without master weights. Ember's table
/// of V x D has V + D + 1 numbers in fp32, of rows, of columns and of all (katop1234/ember), in
/// place of two per element.
double table_state_bytes(const Scenario& scenario, const Stage& stage);

}  // namespace paceline::models
