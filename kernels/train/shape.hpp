// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "models/scenario/scenario.hpp"

namespace paceline::kernels::train {

/// One layer as one rank of a tensor-parallel group holds it: its share of heads and MLP.
struct LayerShape {
  std::int64_t heads = 1, kv_heads = 1, head_dim = 8, ffn = 1;
  bool gated = false;  ///< SwiGLU; otherwise GELU
  bool qkv_bias = false, out_bias = false, mlp_bias = false;
};

/// A decoder-only transformer as one rank sees it.
struct GptShape {
  std::int64_t hidden = 1, vocab = 256;
  std::int64_t positions = 0;  ///< rows of the learned position table; 0: rotary
  bool tied = false, embedding_norm = false, final_norm = true;
  models::NormKind norm = models::NormKind::Layer;
  bool norm_bias = true;
  std::vector<LayerShape> layers;            ///< by number in the model
  std::int64_t sequences = 1, sequence = 1;  ///< of a microbatch, tokens of each
  int tensor_ranks = 1, tensor_rank = 0;
  bool recompute = false;  ///< a stage keeps its input only, and runs forward again before backward
  std::int64_t rows() const { return sequences * sequence; }
};

/// The scenario's model on rank `tensor_rank` of parallel.tp. Throws base::Error, at the scenario's
/// key, for everything this trainer has no arithmetic for: experts, other attentions than
/// multi-head and grouped-query, other activations than GELU and SwiGLU, a vocabulary that does not
/// hold all bytes, context parallelism, sharded states.
GptShape gpt_shape(const models::Scenario& scenario, int tensor_rank);

}  // namespace paceline::kernels::train
