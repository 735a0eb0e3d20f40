// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <string_view>
#include <vector>

#include "models/workload/layer_ops.hpp"

/// Internals of the layer lists: what each kernel moves, and a builder of operations.
namespace paceline::models::detail {

// Bytes moved per element by elementwise kernels, 16-bit tensors: one read and one write of each
// tensor a fused kernel touches. Dropout also writes (reads) a one-byte mask, and its random
// numbers make it compute-bound: kDropoutCost times the bytes of the masked part.
inline constexpr double kDropoutCost = 1.35;
inline constexpr double kHalf = 2;  ///< all byte counts below are those of 16-bit activations

struct Bytes2 {
  double forward, backward;
};
inline constexpr Bytes2 kNormFused{4, 10};  // read x, write y | read dy, x; write dx; partial sums
inline constexpr Bytes2 kNormEager{64, 109};  // fp32 casts, square, mean, rsqrt, two products, ...
inline constexpr Bytes2 kResidual{6, 2};      // read x and r, write | gradient add of the branch
inline constexpr Bytes2 kResidualDropout{2, 4};  // around the dropout part, fused
inline constexpr Bytes2 kResidualDropoutEager{10, 8};
inline constexpr double kDropoutBytes = 5;  // read 2, write 2, mask 1
inline constexpr Bytes2 kGated{6, 10};      // two reads and a write | three reads, two writes
inline constexpr Bytes2 kPlain{4, 6};
inline constexpr double kUnfusedActivation = 1.9;  // squared ReLU as relu then pow: two round trips
inline constexpr Bytes2 kSoftmaxFused{4, 6};    // per score: scale, mask and softmax in one kernel
inline constexpr Bytes2 kSoftmaxEager{30, 26};  // scale, mask, fp32 cast, softmax, cast
inline constexpr Bytes2 kRotary{4, 4};
inline constexpr Bytes2 kRotaryEager{30, 30};  // fp32 casts, two products, rotated half, sum
inline constexpr double kLossForwardShare = 0.6;

/// What an elementwise kernel works on, see Op::kernel.
struct Elements {
  std::string_view kernel{};
  double rows = 0, columns = 0;
  double heads = 0, vocab = 0;
};

/// Builds the list of one phase.
class Builder {
 public:
  Builder(std::vector<Op>& ops, const LayerShape& shape) : ops_(ops), s_(shape) {}

  void gemm(std::string_view name, Phase phase, double m, double n, double k, Precision p) {
    Op op;
    op.name = name;
    op.kind = OpKind::Gemm;
    op.phase = phase;
    op.precision = p;
    op.m = m;
    op.n = n;
    op.k = k;
    op.accumulates = phase == Phase::Weight && s_.stack->accumulation == Accumulation::Fused32;
    ops_.push_back(op);
  }
  void batched(std::string_view name, Phase phase, double count, double m, double n, double k) {
    Op op;
    op.name = name;
    op.kind = OpKind::BatchedGemm;
    op.phase = phase;
    op.precision = s_.precision == Precision::Fp8 ? Precision::Bf16 : s_.precision;
    op.m = m;
    op.n = n;
    op.k = k;
    op.count = count;
    ops_.push_back(op);
  }
  /// `count` matrices of so many rows, each with a weight of its own, in one launch.
  void grouped(std::string_view name, Phase phase, double count, double m, double n, double k,
               Precision p) {
    gemm(name, phase, m, n, k, p);
    ops_.back().kind = OpKind::GroupedGemm;
    ops_.back().count = count;
  }
  void stream(std::string_view name, Phase phase, double bytes, bool exact = false) {
    stream(name, phase, bytes, Elements{}, exact);
  }
  void stream(std::string_view name, Phase phase, double bytes, const Elements& elements,
              bool exact = false) {
    if (bytes <= 0) return;
    Op op;
    op.exact = exact;
    op.name = name;
    op.phase = phase;
    op.precision = s_.precision == Precision::Fp8 ? Precision::Bf16 : s_.precision;
    op.bytes = exact ? bytes : bytes * s_.element / kHalf;
    op.kernel = elements.kernel;
    op.m = elements.rows;
    op.n = elements.columns;
    op.heads = elements.heads;
    op.vocab = elements.vocab;
    ops_.push_back(op);
  }
  void collective(std::string_view name, Phase phase, CollectiveOp kind, GroupAxis axis,
                  double bytes, int beside) {
    Op op;
    op.name = name;
    op.kind = OpKind::Collective;
    op.phase = phase;
    op.collective = kind;
    op.axis = axis;
    op.bytes = bytes * s_.element / kHalf;
    op.beside = beside;
    ops_.push_back(op);
  }
  /// An exchange over the ep group in two steps; bytes as a rank sends them.
  void two_step(std::string_view name, Phase phase, double across, double inside) {
    const double scale = s_.element / kHalf;
    collective(name, phase, CollectiveOp::AllToAll, GroupAxis::Ep, across + inside, 0);
    ops_.back().across = across * scale;
    ops_.back().inside = inside * scale;
  }
  void push(const Op& op) { ops_.push_back(op); }

  const LayerShape& shape() const { return s_; }
  const Stack& stack() const { return *s_.stack; }
  double tokens() const { return s_.tokens; }
  double t() const { return s_.tp; }
  /// Elements of a full-width tensor that a rank processes between the tp regions.
  double outside(double width) const {
    return s_.tokens * width / (s_.sequence_parallel ? s_.tp : 1);
  }
  /// The same as rows of `width` columns that a kernel works on.
  Elements rows_outside(std::string_view kernel, double width) const {
    return {kernel, outside(1), width, 0, 0};
  }

 private:
  std::vector<Op>& ops_;
  const LayerShape& s_;
};

struct Widths {
  double q, kv, v;  ///< per tp rank
};
Widths widths(const Attention& attention, double tp);

// Column- and row-parallel GEMMs with their tp collectives (op_builder.cpp).
void enter_forward(Builder& b, double hidden, std::string_view name);
void row_parallel_forward(Builder& b, std::string_view name, double hidden, double k, Precision p);
void row_parallel_backward(Builder& b, std::string_view input, std::string_view weight,
                           double hidden, double k, Precision p);
void column_parallel_backward(Builder& b, std::string_view input, std::string_view weight,
                              double hidden, double n, Precision p);

// The dense part of a block: `width` of the MLP, which may be that of shared experts
// (mlp_ops.cpp).
void mlp_forward(Builder& b, double hidden, const Mlp& mlp, std::int64_t width,
                 bool to_last_input = false);
void mlp_backward(Builder& b, double hidden, const Mlp& mlp, std::int64_t width);
/// Bytes of the activation function per output; the kernel that does it on `rows` of `width`.
double activation_bytes(const Builder& b, const Mlp& mlp, bool forward);
Elements activation_elements(const Mlp& mlp, double rows, double width);

// The attention block between its norm and its output projection (attention_ops.cpp).
void projections_forward(Builder& b, const Model& model, const Attention& a);
void projections_backward(Builder& b, const Model& model, const Attention& a);
/// Of absorbed latent attention: from the latent every head has summed to its values.
void output_up(Builder& b, const Attention& a, Phase phase);
void rotary(Builder& b, const Model& model, const Attention& a, Phase phase);
void context_exchange(Builder& b, const Attention& a, Phase phase);
/// One attention kernel: scores of a head and the heads, the length of documents for its
/// efficiency, queries.
struct FlashWork {
  double pairs = 0, heads = 0, length = 0, rows = 0;
};
void flash_kernel(Builder& b, const Attention& a, Phase phase, const FlashWork& work);
void core_forward(Builder& b, const Attention& a, Phase phase);
void core_backward(Builder& b, const Attention& a);

// Attention over a context group (context_ops.cpp): kernels and exchanges of the method, and what
// it holds beside the activations, in bytes.
void context_core(Builder& b, const Attention& a, Phase phase);
double context_buffer(Builder& b, const Attention& a);

}  // namespace paceline::models::detail
