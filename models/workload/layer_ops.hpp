// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/cost/collective.hpp"
#include "models/hardware/device.hpp"
#include "models/scenario/scenario.hpp"
#include "models/workload/model.hpp"

/// A layer as the list of its kernels and collectives, in execution order. Shapes and bytes only;
/// models/cost/kernel.hpp says what they take.
namespace paceline::models {

enum class OpKind : std::uint8_t { Gemm, BatchedGemm, GroupedGemm, Attention, Stream, Collective };
enum class Phase : std::uint8_t { Forward, Input, Weight };  ///< forward, input and weight gradient
enum class GroupAxis : std::uint8_t { Tp, Cp, CpInner, CpOuter, Servers, Ep, Etp };

struct Op {
  std::string_view name;
  OpKind kind = OpKind::Stream;
  Phase phase = Phase::Forward;
  Precision precision = Precision::Bf16;
  // Gemm: C[m,n] (+)= A[m,k] B[k,n]. BatchedGemm: `count` of them, strided. GroupedGemm: `count` of
  // them in one launch, each with a weight of its own.
  double m = 0, n = 0, k = 0;
  double count = 1;
  bool accumulates = false;  ///< output read and written in fp32 (fused gradient accumulation)
  // Stream: HBM bytes moved. Collective: bytes of the full array. Attention: unused.
  double bytes = 0;
  /// Stream: not scaled by the stack's elementwise factor (casts, loss, accumulation)
  bool exact = false;
  // Attention: floating-point operations actually needed (half of the square when causal).
  double flops = 0;
  double sequence = 0;  ///< Attention: tokens of one kernel call, for its efficiency curve
  int head_dim = 0;
  /// Stream: the kernel of kernels/ that does it on m rows of n columns (rope: `heads` of n; the
  /// embedding: `vocab` rows to choose from); empty where none does. Attention: that of `count`
  /// sequences of m queries and n keys.
  std::string_view kernel{};
  double heads = 0, kv_heads = 0, vocab = 0;
  // Collective.
  CollectiveOp collective = CollectiveOp::AllReduce;
  GroupAxis axis = GroupAxis::Tp;
  int beside = 0;  ///< runs beside this many following operations; 0 = exposed
  /// An exchange in two steps, where above 0: bytes a rank sends over the network and over the
  /// device link of its domain, at the same time. `bytes` then only says how much is exchanged.
  double across = 0, inside = 0;
};

/// How the experts of a layer are spread and fed, see models/scenario/moe.hpp.
struct ExpertShape {
  int ep = 1, etp = 1;
  int nodes = 1;    ///< device-link domains the ep group spans
  double load = 1;  ///< tokens a rank computes over its equal share of those routed
  MoeSettings settings;
  int ranks() const { return ep * etp; }  ///< that share one set of experts
};

/// What a layer is computed with: everything its kernels depend on beyond the layer itself.
struct LayerShape {
  double tokens = 0;     ///< of one microbatch on one rank (micro * sequence / cp)
  double sequence = 0;   ///< of one document, before cp
  double sequences = 1;  ///< micro
  /// Where `tokens` are a slice of the sequence: its place, as shares of the sequence.
  double slice_begin = 0, slice_end = 1;
  int tp = 1, cp = 1;
  bool sequence_parallel = false;
  ContextChoice context;
  /// The documents of the microbatch, its windows side by side; of every replica where the method
  /// pools them. Null: one document fills each sequence.
  const std::vector<Window>* packs = nullptr;
  Precision precision = Precision::Bf16;
  double element = 2;          ///< bytes of an activation: 4 under fp32, 2 otherwise
  std::string_view attention;  ///< kernel id
  const Stack* stack = nullptr;
  ExpertShape experts;
  int loss_chunks = 1;
};
LayerShape layer_shape(const Scenario& scenario);
/// Bytes of one element of the activations between layers: FP8 runs keep them in 16 bits.
double activation_element(Precision precision);

/// Kernels of one transformer layer. Backward lists input and weight gradients in execution order.
/// `to_last_input` stops before the last GEMM: all that a backward needs recomputed.
void append_forward(std::vector<Op>& ops, const Model& model, const Layer& layer,
                    const LayerShape& shape, bool to_last_input = false);
void append_backward(std::vector<Op>& ops, const Model& model, const Layer& layer,
                     const LayerShape& shape);
/// What is computed again before the backward of a layer under selective recomputation: the
/// attention core between the projections (Korthikanti et al. 2022, section 5).
void append_core_recompute(std::vector<Op>& ops, const Layer& layer, const LayerShape& shape);

/// What norms and activation functions make again before the backward of a layer.
void append_part_recompute(std::vector<Op>& ops, const Model& model, const Layer& layer,
                           const LayerShape& shape, const RecomputeParts& parts);

/// The attention of a layer alone: kernels between the projections, with their exchanges.
void append_core(std::vector<Op>& ops, const Layer& layer, const LayerShape& shape, Phase phase);

/// Bytes a layer's context parallelism holds while its backward runs, beside the activations.
double context_buffer_bytes(const Layer& layer, const LayerShape& shape);

/// The ends: token embedding on the first stage, final norm, LM head (of `vocab` tokens) and loss
/// on the last.
void append_embedding(std::vector<Op>& ops, const Model& model, const LayerShape& shape,
                      Phase phase);
void append_head(std::vector<Op>& ops, const Model& model, std::int64_t vocab,
                 const LayerShape& shape, Phase phase);

/// Beside the layer itself, a multi-token-prediction layer: norms of its two inputs, the projection
/// of both to one, and a head of its own with its loss (DeepSeek-V3, arXiv 2412.19437,
/// section 2.2).
void append_prediction(std::vector<Op>& ops, const Model& model, const LayerShape& shape,
                       Phase phase);

/// Matrix FLOPs of a list: GEMMs and attention, multiply-add as two.
double matrix_flops(const std::vector<Op>& ops);

/// True for kernel ids that store the scores: "eager" and "megatron-fused".
bool stores_scores(std::string_view attention);
Mask mask_of(const Attention& attention);
/// Scores one head attends to per sequence of `s` tokens: s(s+1)/2-like causal count within a
/// window, as a fraction of s*s.
double causal_fraction(double sequence, double window);

}  // namespace paceline::models
