// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/attention/attention.hpp"
#include "kernels/cudnn/graph.hpp"

/// Attention as graphs of the form that cuDNN's fused engines know (cuDNN developer guide,
/// "Graph API", fused flash attention: products, a scale, a causal mask of generated indices, and
/// softmax spelled out as maximum, difference, exp, sum and quotient).
namespace paceline::kernels {

/// Tensors of Place::Memory of each graph, in their order.
enum AttentionForwardMemory : std::uint8_t {
  kForwardMemoryQ,
  kForwardMemoryK,
  kForwardMemoryV,
  kForwardMemoryOut,
  kForwardMemoryLse,
  kForwardMemories
};
enum AttentionBackwardMemory : std::uint8_t {
  kMemoryQ,
  kMemoryK,
  kMemoryV,
  kMemoryOut,
  kMemoryLse,
  kMemoryDout,
  kMemoryDq,
  kMemoryDk,
  kMemoryDv,
  kMemoryDelta,
  kMemoryDqSum,  ///< fp32, packed as [batch, heads, queries, head_dim]: sums over tiles of keys
  kMemories
};

/// Empty, or why no graph does the case.
std::string no_attention_graph(const Case& c);

/// out and lse of a case without no_attention_graph().
cudnn::Graph attention_forward_graph(const Case& c);
/// dq, dk, dv and delta.
cudnn::Graph attention_backward_graph(const Case& c);

}  // namespace paceline::kernels
