// SPDX-License-Identifier: Apache-2.0
#include "models/cost/memory.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::models;
using tests::small_gpt;

namespace {

// Of small_gpt: micro 2, sequence 512, hidden 1024, 16 heads, 16 layers, vocabulary 32000.
constexpr double kB = 2, kS = 512, kH = 1024, kA = 16, kVocab = 32000;

/// What the formulas of Korthikanti et al. assume: dropout, fused softmax that keeps its scores.
const std::string kPaper =
    "stack: {name: generic, dropout: true}\nattention: megatron-fused\nprecision: fp16\n";

double layer_bytes(const std::string& more) {
  const Scenario s = small_gpt(kPaper + more);
  return activation_bytes(s, s.model.kinds[0]);
}

struct StagesOf {
  Scenario scenario;
  Plan plan;
  explicit StagesOf(const std::string& more)
      : scenario(small_gpt(more)), plan(make_plan(scenario)) {}
  StageMemory memory(std::size_t stage = 0) const {
    return stage_memory(scenario, plan, plan.stages[stage]);
  }
  double parameters(std::size_t stage = 0) const {
    return stage_parameters(scenario, plan.stages[stage]);
  }
};

}  // namespace

TEST_CASE("a layer keeps s b h (34 + 5 a s / h) bytes: Korthikanti et al., eq. 1", "[memory]") {
  CHECK(layer_bytes("") == Approx(kS * kB * kH * (34 + 5 * kA * kS / kH)));
}

TEST_CASE("tensor parallelism divides all but the 10 s b h outside: eq. 2", "[memory]") {
  for (const double t : {2.0, 4.0, 8.0}) {
    const std::string tp = std::to_string(static_cast<int>(t));
    CHECK(layer_bytes("parallel: {tp: " + tp + "}") ==
          Approx(kS * kB * kH * (10 + 24 / t + 5 * kA * kS / (kH * t))));
    CHECK(layer_bytes("parallel: {tp: " + tp + ", sequence_parallel: true}") ==
          Approx(kS * kB * kH / t * (34 + 5 * kA * kS / kH)));  // eq. 4
  }
}

TEST_CASE("selective recomputation drops the scores: eq. 6", "[memory]") {
  const std::string tp = "parallel: {tp: 8, sequence_parallel: true}\nrecompute: selective";
  CHECK(layer_bytes("recompute: selective") == Approx(34 * kS * kB * kH));
  CHECK(layer_bytes(tp) == Approx(34 * kS * kB * kH / 8));
}

TEST_CASE("full recomputation keeps 2 s b h a layer", "[memory]") {
  const StagesOf full(kPaper + "recompute: full");
  CHECK(full.memory().activation == Approx(16 * 2 * kS * kB * kH));
  CHECK(checkpoint_bytes(full.scenario) == Approx(2 * kS * kB * kH));
  // The layer that is being recomputed lives beside the checkpoints.
  CHECK(full.memory().workspace >= layer_bytes(""));
  CHECK(StagesOf(kPaper).memory().workspace < layer_bytes(""));
  const Scenario sharded =
      small_gpt(kPaper + "parallel: {tp: 8, sequence_parallel: true}\nrecompute: full");
  CHECK(checkpoint_bytes(sharded) == Approx(2 * kS * kB * kH / 8));
}

TEST_CASE("blockwise recomputation keeps checkpoints of the first layers of a stage", "[memory]") {
  const double whole = layer_bytes("");
  for (const int layers : {1, 5, 16}) {
    const StagesOf some(kPaper +
                        "recompute: blockwise\nrecompute_layers: " + std::to_string(layers));
    CHECK(some.memory().activation == Approx(layers * 2 * kS * kB * kH + (16 - layers) * whole));
  }
}

TEST_CASE("flash attention keeps 8 bytes per head and token instead of scores", "[memory]") {
  const Scenario s = small_gpt("stack: {name: generic, dropout: true}\nattention: flash-2");
  CHECK(activation_bytes(s, s.model.kinds[0]) == Approx(kS * kB * (34 * kH + 8 * kA)));
}

TEST_CASE("activations shrink with what is not there: dropout, heads of keys and values",
          "[memory]") {
  const auto bytes = [](const std::string& more) {
    const Scenario s = small_gpt("attention: flash-2\n" + more);
    return activation_bytes(s, s.model.kinds[0]);
  };
  CHECK(bytes("stack: {name: generic, dropout: true}") - bytes("") == Approx(2 * kS * kB * kH));
  CHECK(bytes("") - bytes("model: {kv_heads: 4}") == Approx(2 * 2 * kS * kB * 12 * 64));
  CHECK(bytes("model: {activation: swiglu}") - bytes("") == Approx(2 * kS * kB * 4 * kH));
  CHECK(bytes("") == Approx(2 * bytes("parallel: {cp: 2}")));
  CHECK(bytes("batch: {micro: 4}") == Approx(2 * bytes("")));
}

TEST_CASE("scores cost 5 bytes with dropout, 4 without, 10 unfused", "[memory]") {
  const auto scores = [](const std::string& stack, const std::string& attention) {
    const auto bytes = [&](const std::string& recompute) {
      const Scenario s = small_gpt("stack: {name: generic, dropout: " + stack +
                                   "}\nattention: " + attention + "\nrecompute: " + recompute);
      return activation_bytes(s, s.model.kinds[0]);
    };
    return (bytes("none") - bytes("selective")) / (kB * kA * kS * kS);
  };
  CHECK(scores("true", "megatron-fused") == Approx(5));
  CHECK(scores("false", "megatron-fused") == Approx(4));
  CHECK(scores("true", "eager") == Approx(10));
}

TEST_CASE("parts that run again are not stored: outputs of two norms, and of the activation",
          "[memory]") {
  CHECK(layer_bytes("") - layer_bytes("recompute: [norms]") == Approx(2 * 2 * kS * kB * kH));
  CHECK(layer_bytes("") - layer_bytes("recompute: [activation]") == Approx(2 * kS * kB * 4 * kH));
  CHECK(layer_bytes("recompute: [core, norms, activation]") == Approx((34 - 4 - 8) * kS * kB * kH));
  // One layer at a time has them back.
  const StagesOf plain(kPaper), parts(kPaper + "recompute: [norms, activation]");
  CHECK(parts.memory().workspace - plain.memory().workspace == Approx(12 * kS * kB * kH));
}

TEST_CASE("loss in pieces keeps the logits of one", "[memory]") {
  const StagesOf whole("loss_chunks: 1"), pieces("loss_chunks: 8");
  CHECK(pieces.memory().logits == Approx(whole.memory().logits / 8));
  CHECK(pieces.memory().activation == whole.memory().activation);
}

TEST_CASE("training state is 18 or 16 bytes a parameter with Adam", "[memory]") {
  const auto state = [](const std::string& more) {
    const StateBytes b = state_bytes(small_gpt(more));
    return b.weight + b.gradient + b.optimizer;
  };
  const auto stack = [](const char* way) {
    return std::string("stack: {name: generic, accumulation: ") + way + "}\n";
  };
  CHECK(state(stack("fused-32")) == 18);  // 2 + 4 + 4 + 8
  CHECK(state(stack("main-grad-32")) == 18);
  CHECK(state(stack("autograd-16")) == 16);  // 2 + 2 + 12: Rajbhandari et al. 2020, section 3.1
  CHECK(state(stack("separate-32")) == 20);  // fp32 beside the 16-bit gradients
  CHECK(state(stack("fused-32") + "precision: fp32") == 16);  // no second copy of the weights
  CHECK(state(stack("fused-32") + "optimizer: sgd") == 10);
  CHECK(state(stack("fused-32") + "optimizer: {name: adamw, states: bf16}") == 14);
  CHECK(state(stack("fused-32") + "optimizer: {name: adamw, master: bf16, states: fp8}") == 10);
}

TEST_CASE("ZeRO shards optimizer state, then gradients, then parameters", "[memory]") {
  const std::string stack = "stack: {name: generic, accumulation: autograd-16}\n";
  for (int zero = 0; zero <= 3; ++zero) {
    const StagesOf s(stack + "parallel: {dp: 8, zero: " + std::to_string(zero) + "}");
    const double parameters = s.parameters();
    const StageMemory m = s.memory();
    CHECK(m.optimizer == Approx(12 * parameters / (zero >= 1 ? 8 : 1)));
    CHECK(m.gradients == Approx(2 * parameters / (zero >= 2 ? 8 : 1)));
    CHECK(m.parameters == Approx(2 * parameters / (zero >= 3 ? 8 : 1)));
  }
}

TEST_CASE("context-parallel ranks shard the same state, hybrid sharding a part of it", "[memory]") {
  const StagesOf cp("parallel: {dp: 4, cp: 2, zero: 3}");
  const StagesOf dp("parallel: {dp: 8, zero: 3}");
  CHECK(cp.memory().optimizer == Approx(dp.memory().optimizer));
  const StagesOf hybrid("parallel: {dp: 8, zero: 3, shard: 2}");
  CHECK(hybrid.memory().optimizer == Approx(4 * dp.memory().optimizer));
  CHECK(hybrid.memory().parameters == Approx(4 * dp.memory().parameters));
}

TEST_CASE("sharded weights are gathered two layers at a time", "[memory]") {
  const std::string stack = "stack: {name: generic, accumulation: autograd-16}\n";
  const StagesOf s(stack + "parallel: {dp: 8, zero: 3}");
  const auto layer =
      static_cast<double>(layer_parameters(s.scenario.model, s.scenario.model.kinds[0]));
  CHECK(s.memory().workspace == Approx(2 * layer * (2 + 2)));
  CHECK(StagesOf(stack + "parallel: {dp: 8, zero: 2}").memory().workspace == 0);
}

TEST_CASE("stages of a pipeline hold their layers, the ends their matrices", "[memory]") {
  const StagesOf s("{model: {tied: false}, parallel: {pp: 4, tp: 2}}");
  const auto layer =
      static_cast<double>(layer_parameters(s.scenario.model, s.scenario.model.kinds[0]));
  const double matrix = kVocab * kH;
  CHECK(s.parameters(0) == Approx((4 * layer + matrix) / 2));
  CHECK(s.parameters(1) == Approx(4 * layer / 2));
  CHECK(s.parameters(3) == Approx((4 * layer + matrix) / 2));
  CHECK(stage_matrix_parameters(s.scenario, s.plan.stages[1]) == Approx(4 * 12 * kH * kH / 2));
}

TEST_CASE("a tied matrix counts once on one rank and twice over a pipeline", "[memory]") {
  const StagesOf tied("{model: {tied: true}}"), untied("{model: {tied: false}}");
  CHECK(untied.parameters() - tied.parameters() == Approx(kVocab * kH));
  const StagesOf split("{model: {tied: true}, parallel: {pp: 2}}");
  CHECK(split.parameters(0) == Approx(split.parameters(1)));
}

TEST_CASE("parameters of all stages are the model's, norms of the end aside", "[memory]") {
  for (const char* layout : {"{pp: 1}", "{pp: 4}", "{pp: 2, tp: 4}", "{tp: 8}"}) {
    const StagesOf s(std::string("{model: {tied: false}, parallel: ") + layout + "}");
    double sum = 0;
    for (std::size_t i = 0; i < s.plan.stages.size(); ++i) sum += s.parameters(i);
    const double total = static_cast<double>(total_parameters(s.scenario.model));
    CHECK(sum * s.scenario.parallel.tp == Approx(total).epsilon(1e-4));
  }
}

TEST_CASE("logits live on the head's stage, sharded over tp where the stack does so", "[memory]") {
  const std::string bytes = ", numbers: {logit_bytes: {value: 6, source: test}}}\n";
  const StagesOf s("stack: {name: generic" + bytes + "parallel: {pp: 2, tp: 4}");
  CHECK(s.memory(0).logits == 0);
  CHECK(s.memory(1).logits == Approx(6 * kB * kS * kVocab / 4));
  const StagesOf whole("stack: {name: generic, sharded_logits: false" + bytes +
                       "parallel: {pp: 2, tp: 4}");
  CHECK(whole.memory(1).logits == Approx(6 * kB * kS * kVocab));
}

TEST_CASE("a stack's activation overhead scales what is allocated", "[memory]") {
  const StagesOf plain(""),
      more("stack: {name: generic, numbers: {activation_overhead: {value: 1.25, source: test}}}");
  CHECK(more.memory().activation == Approx(1.25 * plain.memory().activation));
  CHECK(more.memory().parameters == plain.memory().parameters);
}
