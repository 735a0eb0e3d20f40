// SPDX-License-Identifier: Apache-2.0
#include "models/workload/layer_ops.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::models;
using tests::small_gpt;

namespace {

// Of small_gpt: micro 2, sequence 512.
constexpr double kB = 2, kS = 512, kH = 1024, kVocab = 32000;

std::vector<Op> forward_of(const Scenario& s) {
  std::vector<Op> ops;
  append_forward(ops, s.model, s.model.kinds[0], layer_shape(s));
  return ops;
}
std::vector<Op> backward_of(const Scenario& s) {
  std::vector<Op> ops;
  append_backward(ops, s.model, s.model.kinds[0], layer_shape(s));
  return ops;
}

double gemm_flops(const std::vector<Op>& ops) {
  double sum = 0;
  for (const Op& op : ops) {
    if (op.kind == OpKind::Gemm) sum += 2 * op.m * op.n * op.k;
  }
  return sum;
}

/// Number and bytes of the collectives of one kind over one axis.
struct Sent {
  int count = 0;
  double bytes = 0;
};
Sent sent(const std::vector<Op>& ops, CollectiveOp kind, GroupAxis axis = GroupAxis::Tp) {
  Sent out;
  for (const Op& op : ops) {
    if (op.kind != OpKind::Collective || op.collective != kind || op.axis != axis) continue;
    ++out.count;
    out.bytes += op.bytes;
  }
  return out;
}
int collectives(const std::vector<Op>& ops) {
  int count = 0;
  for (const Op& op : ops) count += op.kind == OpKind::Collective ? 1 : 0;
  return count;
}

const Op& named(const std::vector<Op>& ops, std::string_view name) {
  for (const Op& op : ops) {
    if (op.name == name) return op;
  }
  FAIL("no op " << name);
  return ops.front();
}

const std::string kStored = "attention: megatron-fused";
const std::string kFlash = "attention: flash-2";

}  // namespace

TEST_CASE("a GPT layer's forward takes 24 B s h^2 (1 + s / 6h) operations", "[layer]") {
  CHECK(matrix_flops(forward_of(small_gpt(kStored))) ==
        Approx(24 * kB * kS * kH * kH * (1 + kS / (6 * kH))));
  CHECK(matrix_flops(forward_of(small_gpt("attention: eager"))) ==
        Approx(24 * kB * kS * kH * kH * (1 + kS / (6 * kH))));
}

TEST_CASE("flash attention computes half of the square", "[layer]") {
  CHECK(matrix_flops(forward_of(small_gpt(kFlash))) ==
        Approx(24 * kB * kS * kH * kH * (1 + kS / (12 * kH))));
}

TEST_CASE("backward is twice the forward, and 2.5 times inside flash kernels", "[layer]") {
  const Scenario stored = small_gpt(kStored);
  CHECK(matrix_flops(backward_of(stored)) == Approx(2 * matrix_flops(forward_of(stored))));
  const Scenario flash = small_gpt(kFlash);
  CHECK(gemm_flops(backward_of(flash)) == Approx(2 * gemm_flops(forward_of(flash))));
  CHECK(named(backward_of(flash), "attention backward").flops ==
        Approx(2.5 * named(forward_of(flash), "attention").flops));
}

TEST_CASE("half of the backward's linear work is weight gradients", "[layer]") {
  double weights = 0;
  for (const Op& op : backward_of(small_gpt())) {
    if (op.kind == OpKind::Gemm && op.phase == Phase::Weight) weights += 2 * op.m * op.n * op.k;
  }
  CHECK(weights == Approx(24 * kB * kS * kH * kH));
}

TEST_CASE("selective recomputation repeats the attention core only", "[layer]") {
  const Scenario stored = small_gpt(kStored);
  std::vector<Op> ops;
  append_core_recompute(ops, stored.model.kinds[0], layer_shape(stored));
  CHECK(matrix_flops(ops) == Approx(4 * kB * kS * kS * kH));
  CHECK(gemm_flops(ops) == 0);
  CHECK(collectives(ops) == 0);
  ops.clear();
  const Scenario flash = small_gpt(kFlash);
  append_core_recompute(ops, flash.model.kinds[0], layer_shape(flash));
  CHECK(ops.empty());
}

TEST_CASE("a recomputation that stops early leaves out the last GEMM and its reduction",
          "[layer]") {
  const Scenario s = small_gpt("parallel: {tp: 4}\n" + kStored);
  std::vector<Op> part;
  append_forward(part, s.model, s.model.kinds[0], layer_shape(s), true);
  const std::vector<Op> whole = forward_of(s);
  CHECK(matrix_flops(whole) - matrix_flops(part) == Approx(8 * kB * kS * kH * kH / 4));
  CHECK(collectives(whole) - collectives(part) == 1);
}

TEST_CASE("tensor parallelism divides the matrix work of a layer evenly", "[layer]") {
  for (const std::string& attention : {kStored, kFlash}) {
    const Scenario one = small_gpt(attention);
    for (const int tp : {2, 4, 8}) {
      for (const char* sp : {"false", "true"}) {
        const Scenario s = small_gpt("parallel: {tp: " + std::to_string(tp) +
                                     ", sequence_parallel: " + sp + "}\n" + attention);
        CAPTURE(attention, tp, sp);
        CHECK(matrix_flops(forward_of(s)) == Approx(matrix_flops(forward_of(one)) / tp));
        CHECK(matrix_flops(backward_of(s)) == Approx(matrix_flops(backward_of(one)) / tp));
      }
    }
  }
}

TEST_CASE("context parallelism divides the work of a sequence evenly", "[layer]") {
  const Scenario one = small_gpt(kFlash);
  const Scenario s = small_gpt("parallel: {cp: 4, context: all-gather}\n" + kFlash);
  CHECK(matrix_flops(forward_of(s)) == Approx(matrix_flops(forward_of(one)) / 4));
  CHECK(matrix_flops(backward_of(s)) == Approx(matrix_flops(backward_of(one)) / 4));
  // Keys and values of the whole sequence, 2 B each; their gradients go back the same way.
  const double kv = 2 * 2 * kB * kS * kH;
  CHECK(sent(forward_of(s), CollectiveOp::AllGather, GroupAxis::Cp).bytes == Approx(kv));
  CHECK(sent(backward_of(s), CollectiveOp::AllGather, GroupAxis::Cp).bytes == Approx(kv));
  CHECK(sent(backward_of(s), CollectiveOp::ReduceScatter, GroupAxis::Cp).bytes == Approx(kv));
  CHECK(collectives(forward_of(one)) == 0);
}

TEST_CASE("a tensor-parallel layer all-reduces twice forward and twice backward", "[layer]") {
  const Scenario s = small_gpt("parallel: {tp: 8}");
  const double activation = 2 * kB * kS * kH;  // 16 bit
  const Sent forward = sent(forward_of(s), CollectiveOp::AllReduce);
  const Sent backward = sent(backward_of(s), CollectiveOp::AllReduce);
  CHECK(forward.count == 2);
  CHECK(backward.count == 2);
  CHECK(forward.bytes == Approx(2 * activation));
  CHECK(backward.bytes == Approx(2 * activation));
  CHECK(collectives(forward_of(s)) + collectives(backward_of(s)) == 4);
  // With full recomputation the forward runs twice: six.
  CHECK(2 * collectives(forward_of(s)) + collectives(backward_of(s)) == 6);
}

TEST_CASE("sequence parallelism replaces an all-reduce by a gather and a scatter", "[layer]") {
  const Scenario s = small_gpt("parallel: {tp: 8, sequence_parallel: true}");
  const double activation = 2 * kB * kS * kH;
  const std::vector<Op> forward = forward_of(s), backward = backward_of(s);
  CHECK(sent(forward, CollectiveOp::AllReduce).count == 0);
  CHECK(sent(backward, CollectiveOp::AllReduce).count == 0);
  CHECK(sent(forward, CollectiveOp::AllGather).count == 2);
  CHECK(sent(forward, CollectiveOp::AllGather).bytes == Approx(2 * activation));
  CHECK(sent(forward, CollectiveOp::ReduceScatter).count == 2);
  CHECK(sent(forward, CollectiveOp::ReduceScatter).bytes == Approx(2 * activation));
  // Backward: dY twice, and the stored shard of X once more for each weight gradient.
  CHECK(sent(backward, CollectiveOp::AllGather).count == 4);
  CHECK(sent(backward, CollectiveOp::ReduceScatter).count == 2);
  CHECK(sent(backward, CollectiveOp::ReduceScatter).bytes == Approx(2 * activation));
}

TEST_CASE("a stack says which collectives run beside a GEMM", "[layer]") {
  const auto beside = [](const std::vector<Op>& ops) {
    int count = 0;
    for (const Op& op : ops) count += op.kind == OpKind::Collective && op.beside > 0 ? 1 : 0;
    return count;
  };
  const auto with = [](const char* overlap) {
    return small_gpt(std::string("parallel: {tp: 8, sequence_parallel: true}\n"
                                 "stack: {name: generic, tp_overlap: ") +
                     overlap + "}");
  };
  CHECK(beside(forward_of(with("none"))) + beside(backward_of(with("none"))) == 0);
  CHECK(beside(forward_of(with("backward"))) == 0);
  CHECK(beside(backward_of(with("backward"))) == 4);  // gather X and reduce dX, twice
  CHECK(beside(forward_of(with("bulk"))) == 4);
  CHECK(beside(backward_of(with("bulk"))) == 6);
}

TEST_CASE("grouped-query attention narrows keys and values, never below one head a rank",
          "[layer]") {
  const std::string model =
      "model: {hidden: 1024, layers: 16, heads: 16, kv_heads: 4, ffn: 4096, vocab: 32000}\n";
  CHECK(named(forward_of(small_gpt(model)), "QKV").n == 1024 + 2 * 4 * 64);
  CHECK(named(forward_of(small_gpt(model + "parallel: {tp: 2}")), "QKV").n == 512 + 2 * 2 * 64);
  CHECK(named(forward_of(small_gpt(model + "parallel: {tp: 8}")), "QKV").n == 128 + 2 * 64);
  const Op gathered =
      named(forward_of(small_gpt(model + "parallel: {cp: 2, context: all-gather}")), "gather KV");
  CHECK(gathered.bytes == Approx(2 * 2 * kB * kS * 4 * 64));
}

TEST_CASE("a gated MLP has two matrices into the activation", "[layer]") {
  const Scenario s = small_gpt("{model: {ffn: 2816, activation: swiglu}}");
  const std::vector<Op> ops = forward_of(s);
  CHECK(named(ops, "FC1").n == 2 * 2816);
  CHECK(named(ops, "FC2").k == 2816);
  CHECK(gemm_flops(backward_of(s)) == Approx(2 * gemm_flops(ops)));
}

TEST_CASE("latent attention projects down and up, queries too where they have a rank", "[layer]") {
  Scenario s = small_gpt(kFlash);
  Attention& a = s.model.kinds[0].attention;
  a.kind = AttentionKind::Latent;
  a.nope_dim = 128;
  a.rope_dim = 64;
  a.head_dim = 192;
  a.value_dim = 128;
  a.kv_rank = 512;
  a.kv_heads = a.heads;
  for (const int q_rank : {0, 1536}) {
    for (const int tp : {1, 4}) {
      CAPTURE(q_rank, tp);
      a.q_rank = q_rank;
      s.parallel.tp = tp;
      const double tokens = kB * kS, heads = 16.0 / tp;
      const double queries = q_rank > 0 ? kH * q_rank + q_rank * heads * 192 : kH * heads * 192;
      const double weights = queries + kH * (512 + 64) + 512 * heads * (128 + 128) +
                             heads * 128 * kH + 2 * kH * 4096 / tp;
      CHECK(gemm_flops(forward_of(s)) == Approx(2 * tokens * weights));
      CHECK(gemm_flops(backward_of(s)) == Approx(4 * tokens * weights));
      CHECK(named(forward_of(s), "attention").flops ==
            Approx(2 * kB * kS * kS / 2 * heads * (192 + 128)));
    }
  }
}

TEST_CASE("a window counts the triangle it starts with and the band after it", "[layer]") {
  CHECK(causal_fraction(4096, 0) == 0.5);
  CHECK(causal_fraction(4096, 4096) == 0.5);
  CHECK(causal_fraction(4096, 8192) == 0.5);
  double scores = 0;
  for (int row = 0; row < 4096; ++row) scores += std::min(row + 0.5, 1024.0);
  CHECK(causal_fraction(4096, 1024) == Approx(scores / (4096.0 * 4096.0)).epsilon(1e-3));
  CHECK(causal_fraction(4096, 4095.999) == Approx(0.5));
}

TEST_CASE("the head is one product with the vocabulary and its gradients", "[layer]") {
  for (const int tp : {1, 4}) {
    const Scenario s = small_gpt("parallel: {tp: " + std::to_string(tp) + "}");
    std::vector<Op> forward, backward;
    append_head(forward, s.model, s.model.vocab, layer_shape(s), Phase::Forward);
    append_head(backward, s.model, s.model.vocab, layer_shape(s), Phase::Input);
    CHECK(matrix_flops(forward) == Approx(2 * kB * kS * kH * kVocab / tp));
    CHECK(matrix_flops(backward) == Approx(2 * matrix_flops(forward)));
    CHECK(collectives(forward) == 0);
    CHECK(collectives(backward) == (tp > 1 ? 1 : 0));
  }
}

TEST_CASE("logits that are not sharded are gathered over tp", "[layer]") {
  const Scenario s =
      small_gpt("{parallel: {tp: 4}, stack: {name: generic, sharded_logits: false}}");
  std::vector<Op> ops;
  append_head(ops, s.model, s.model.vocab, layer_shape(s), Phase::Forward);
  CHECK(sent(ops, CollectiveOp::AllGather).bytes == Approx(2 * kB * kS * kVocab));
}

TEST_CASE("the embedding of a tensor-parallel model ends in a reduction, forward only", "[layer]") {
  const Scenario s = small_gpt("parallel: {tp: 4}");
  std::vector<Op> forward, backward;
  append_embedding(forward, s.model, layer_shape(s), Phase::Forward);
  append_embedding(backward, s.model, layer_shape(s), Phase::Input);
  CHECK(sent(forward, CollectiveOp::AllReduce).bytes == Approx(2 * kB * kS * kH));
  CHECK(collectives(backward) == 0);
  CHECK(matrix_flops(forward) == 0);
}

TEST_CASE("fused kernels move fewer bytes than eager ones, dropout adds some", "[layer]") {
  const auto bytes = [](const std::string& stack) {
    const Scenario s = small_gpt("stack: {name: generic, " + stack + "}\n" + kStored);
    double sum = 0;
    for (const auto& ops : {forward_of(s), backward_of(s)}) {
      for (const Op& op : ops) sum += op.kind == OpKind::Stream ? op.bytes : 0;
    }
    return sum;
  };
  const double fused = bytes("dropout: false");
  CHECK(bytes("norm: eager") > fused);
  CHECK(bytes("fused_activation: false") > fused);
  CHECK(bytes("dropout: true") > fused);
  CHECK(bytes("dropout: true, fused_bias_dropout: false") > bytes("dropout: true"));
}

TEST_CASE("gradient accumulation costs what the stack's way moves", "[layer]") {
  const auto accumulated = [](const char* way) {
    const Scenario s = small_gpt(std::string("stack: {name: generic, accumulation: ") + way + "}");
    double sum = 0;
    for (const Op& op : backward_of(s)) sum += op.name == "accumulate" ? op.bytes : 0;
    return sum / static_cast<double>(layer_parameters(s.model, s.model.kinds[0]));
  };
  CHECK(accumulated("autograd-16") == Approx(6));
  CHECK(accumulated("main-grad-32") == Approx(10));
  CHECK(accumulated("separate-32") == Approx(10));
  CHECK(accumulated("fused-32") == 0);
}

TEST_CASE("head and loss in pieces do the same products, all in the forward", "[layer]") {
  const auto head = [](const std::string& more, Phase phase) {
    const Scenario s = small_gpt(more);
    std::vector<Op> ops;
    append_head(ops, s.model, s.model.vocab, layer_shape(s), phase);
    return ops;
  };
  const std::string tp = "parallel: {tp: 2, sequence_parallel: true}\n";
  for (const std::string& layout : {std::string(), tp}) {
    const double whole =
        matrix_flops(head(layout, Phase::Forward)) + matrix_flops(head(layout, Phase::Input));
    const auto pieces = head(layout + "loss_chunks: 4\n", Phase::Forward);
    CHECK(matrix_flops(pieces) == Approx(whole));
    CHECK(matrix_flops(head(layout + "loss_chunks: 4\n", Phase::Input)) == 0);
    CHECK(named(pieces, "LM head").m == kB * kS / 4);
  }
  // The input is gathered once, its gradient scattered once; the backward gathers no more.
  CHECK(collectives(head(tp + "loss_chunks: 4\n", Phase::Forward)) == 2);
  CHECK(collectives(head(tp + "loss_chunks: 4\n", Phase::Input)) == 0);
}

TEST_CASE("norms and activations that run again are streams of a forward", "[layer]") {
  const Scenario s = small_gpt("recompute: [norms, activation]\n");
  std::vector<Op> ops;
  append_part_recompute(ops, s.model, s.model.kinds[0], layer_shape(s), s.recompute_parts);
  REQUIRE(ops.size() == 3);
  const auto forward = forward_of(s);
  CHECK(named(ops, "norm again").bytes == named(forward, "norm 1").bytes);
  CHECK(named(ops, "activation again").bytes == named(forward, "activation").bytes);
}
