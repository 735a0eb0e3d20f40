// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "models/cost/memory.hpp"
#include "models/parallel/plan.hpp"
#include "models/workload/expert_load.hpp"
#include "models/workload/moe_ops.hpp"
#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {

/// Qwen3 30B-A3B cut to 4 layers on two nodes of 8 H100; `more` replaces keys.
Scenario small_moe(const std::string& more = "") {
  base::Document document = base::parse_yaml(
      "model: {preset: qwen3-30b-a3b, layers: 4}\n"
      "cluster: {preset: dgx-h100, nodes: 2}\n"
      "batch: {global: 64, micro: 1, sequence: 4096}\n"
      "parallel: {ep: 8, sequence_parallel: true}\n",
      "test.yaml");
  const base::Document overlay = base::parse_yaml(more.empty() ? "{}" : more, "test.yaml");
  base::merge(document.root, overlay.root);
  return read_scenario(document);
}

const Layer& moe_layer(const Scenario& s) { return s.model.kinds.back(); }

std::vector<Op> forward(const Scenario& s, int nodes = 1) {
  LayerShape shape = layer_shape(s);
  shape.experts.nodes = nodes;
  std::vector<Op> ops;
  append_forward(ops, s.model, moe_layer(s), shape);
  return ops;
}

double bytes_of(const std::vector<Op>& ops, std::string_view name) {
  double sum = 0;
  for (const Op& op : ops)
    if (op.kind == OpKind::Collective && op.name == name) sum += op.bytes;
  return sum;
}

/// All combinations of `chosen` of `count` experts: mean number of parts they lie in.
double counted_parts(int count, int chosen, int parts) {
  std::vector<bool> takes(static_cast<std::size_t>(count), false);
  std::fill(takes.begin(), takes.begin() + chosen, true);
  double sum = 0, all = 0;
  do {
    std::set<int> met;
    for (int i = 0; i < count; ++i)
      if (takes[static_cast<std::size_t>(i)]) met.insert(i / (count / parts));
    sum += static_cast<double>(met.size());
    all += 1;
  } while (std::prev_permutation(takes.begin(), takes.end()));
  return sum / all;
}

}  // namespace

TEST_CASE("parts that chosen experts lie in are those counted over all choices", "[moe]") {
  CHECK(distinct_parts(12, 3, 4) == Approx(counted_parts(12, 3, 4)));
  CHECK(distinct_parts(12, 5, 3) == Approx(counted_parts(12, 5, 3)));
  CHECK(distinct_parts(8, 1, 8) == Approx(1));
  CHECK(distinct_parts(8, 8, 4) == Approx(4));
  CHECK(distinct_parts(8, 2, 1) == 1);
}

TEST_CASE("tokens in are tokens out: loads of the ranks add up to what was routed", "[moe]") {
  MoeSettings moe;
  for (const ImbalanceLaw law : {ImbalanceLaw::Balanced, ImbalanceLaw::Lognormal,
                                 ImbalanceLaw::Zipf, ImbalanceLaw::Adversarial}) {
    moe.imbalance = {law, 0.7, 3};
    for (const int ranks : {1, 4, 16, 128}) {
      moe.capacity = 0;
      const ExpertLoad all = expert_load(moe, 128, 8, ranks);
      CHECK(all.mean == Approx(1));
      CHECK(all.slowest >= all.mean * (1 - 1e-12));
      CHECK(all.slowest <= std::min<double>(ranks, 128.0 / 8 * 8) + 1e-9);
      moe.capacity = 1.25;
      const ExpertLoad capped = expert_load(moe, 128, 8, ranks);
      CHECK(capped.mean <= 1 + 1e-12);
      CHECK(capped.slowest <= 1.25 + 1e-12);
      CHECK(capped.dropped() == Approx(1 - capped.mean));
    }
  }
}

TEST_CASE("an adversary sends every token to one rank where its experts suffice", "[moe]") {
  MoeSettings moe;
  moe.imbalance.law = ImbalanceLaw::Adversarial;
  CHECK(expert_load(moe, 64, 8, 8).slowest == Approx(8));   // 8 experts a rank take all 8 copies
  CHECK(expert_load(moe, 64, 8, 64).slowest == Approx(8));  // one expert a rank: an eighth of them
  CHECK(expert_load(moe, 64, 8, 1).slowest == Approx(1));
}

TEST_CASE("more skew and a lower seed of order: the slowest rank only gets slower", "[moe]") {
  MoeSettings moe;
  moe.imbalance = {ImbalanceLaw::Lognormal, 0, 1};
  double last = 0;
  for (const double sigma : {0.0, 0.2, 0.5, 1.0, 2.0}) {
    moe.imbalance.value = sigma;
    const double slowest = expert_load(moe, 128, 8, 16).slowest;
    CHECK(slowest >= last);
    last = slowest;
  }
}

TEST_CASE("attention and experts cut the same ranks into groups that cover each once", "[moe]") {
  for (const std::string layout :
       {"{tp: 2, ep: 8}", "{tp: 4, pp: 2, ep: 2, etp: 4}", "{tp: 2, cp: 2, ep: 16, etp: 1}",
        "{tp: 8, ep: 4, etp: 2}", "{pp: 4, ep: 4, order: dp-ep-cp-tp-pp}"}) {
    const Scenario s = small_moe("parallel: " + layout.substr(0, layout.size() - 1) +
                                 ", sequence_parallel: true}");
    const Plan plan = make_plan(s);
    const Mesh* mesh = expert_mesh(plan);
    REQUIRE(mesh != nullptr);
    CHECK(mesh->ranks() == plan.meshes.front().ranks());
    const MeshAxis etp = mesh->axis("etp"), ep = mesh->axis("ep"), edp = mesh->axis("edp"),
                   pp = mesh->axis("pp");
    CHECK(pp.stride == plan.meshes.front().axis("pp").stride);
    std::set<int> seen;
    for (int a = 0; a < etp.size; ++a)
      for (int b = 0; b < ep.size; ++b)
        for (int c = 0; c < edp.size; ++c)
          for (int d = 0; d < pp.size; ++d)
            seen.insert(a * etp.stride + b * ep.stride + c * edp.stride + d * pp.stride);
    CHECK(seen.size() == static_cast<std::size_t>(s.parallel.world_size()));
    CHECK(*seen.rbegin() == s.parallel.world_size() - 1);
  }
}

TEST_CASE("parameters over the ranks of a stage add up to the model's", "[moe]") {
  for (const std::string layout : {"{tp: 2, ep: 8}", "{tp: 4, pp: 2, ep: 2, etp: 4}"}) {
    const Scenario s = small_moe("parallel: " + layout.substr(0, layout.size() - 1) +
                                 ", sequence_parallel: true}");
    const Plan plan = make_plan(s);
    double sum = 0;
    for (const Stage& stage : plan.stages) {
      const HeldParameters held = held_parameters(s, stage);
      sum += held.dense * s.parallel.tp + held.experts * s.parallel.ep * s.parallel.etp;
      CHECK(held.sum() == Approx(stage_parameters(s, stage)));
    }
    CHECK(sum == Approx(static_cast<double>(total_parameters(s.model) - s.model.hidden)));
  }
}

TEST_CASE("exchanges move what their closed forms say", "[moe]") {
  const double t = 4096, h = 2048, k = 8;  // tokens, hidden, experts a token
  CHECK(bytes_of(forward(small_moe()), "dispatch") == Approx(2 * t * k * h));
  CHECK(bytes_of(forward(small_moe("parallel: {tp: 2}")), "dispatch") == Approx(t * k * h));
  CHECK(bytes_of(forward(small_moe("moe: {dispatcher: all-gather}")), "dispatch") ==
        Approx(2 * t * 8 * h));
  // DeepEP on two nodes of four: once to the other node, once to each rank of the node.
  const std::vector<Op> ops = forward(small_moe("moe: {dispatcher: deepep}"), 2);
  const auto dispatch =
      std::find_if(ops.begin(), ops.end(), [](const Op& op) { return op.name == "dispatch"; });
  REQUIRE(dispatch != ops.end());
  CHECK(dispatch->across == Approx(2 * t * h * distinct_parts(128, 8, 2) / 2));
  CHECK(dispatch->inside == Approx(2 * t * h * distinct_parts(128, 8, 8) * 3 / 4));
  // One node a token: no more than one of them is the other.
  const std::vector<Op> limited = forward(small_moe("moe: {dispatcher: deepep, node_limit: 1}"), 2);
  const auto one = std::find_if(limited.begin(), limited.end(),
                                [](const Op& op) { return op.name == "dispatch"; });
  CHECK(one->across == Approx(2 * t * h * 0.5));
}

TEST_CASE("products of the experts do the work of their tokens whatever the layout", "[moe]") {
  const auto expert_flops = [](const Scenario& s) {
    double sum = 0;
    for (const Op& op : forward(s))
      if (op.kind == OpKind::GroupedGemm) sum += 2 * op.count * op.m * op.n * op.k;
    return sum * s.parallel.world_size() / s.parallel.pp;
  };
  const double whole = 3.0 * 2 * 4096 * 16 * 8 * 2048 * 768;  // 16 ranks of 4096 tokens
  CHECK(expert_flops(small_moe()) == Approx(whole));
  CHECK(expert_flops(small_moe("parallel: {ep: 2, etp: 4}")) == Approx(whole));
  CHECK(expert_flops(small_moe("parallel: {tp: 2}")) == Approx(whole / 2));
  CHECK(expert_flops(small_moe(
            "parallel: {tp: 8, ep: 8, sequence_parallel: false}\nmoe: {dispatcher: slice}")) ==
        Approx(whole / 8));
}

TEST_CASE("one expert for every token is a dense layer with a router and copies", "[moe]") {
  Scenario s = small_moe("parallel: {ep: 1}");
  Layer sparse = moe_layer(s), dense = sparse;
  sparse.experts = {1, 1, 6144, 0, false, false, false};
  dense.experts = {};
  dense.mlp.width = 6144;
  const auto products = [&](const Layer& layer, bool backward) {
    std::vector<Op> ops;
    const LayerShape shape = layer_shape(s);
    backward ? append_backward(ops, s.model, layer, shape)
             : append_forward(ops, s.model, layer, shape);
    double flops = 0;
    for (const Op& op : ops) {
      CHECK(op.kind != OpKind::Collective);
      if (op.name.substr(0, 6) == "router") continue;
      if (op.kind == OpKind::Gemm || op.kind == OpKind::GroupedGemm)
        flops += op.count * op.m * op.n * op.k;
    }
    return flops;
  };
  CHECK(products(sparse, false) == Approx(products(dense, false)));
  CHECK(products(sparse, true) == Approx(products(dense, true)));
  CHECK(layer_parameters(s.model, sparse) == layer_parameters(s.model, dense) + s.model.hidden);
}

TEST_CASE("an unequal share of tokens is waited for, and shows as straggler", "[moe]") {
  const sim::Prediction even = sim::predict(small_moe());
  const sim::Prediction skewed =
      sim::predict(small_moe("moe: {imbalance: {law: measured, load: 1.5}}"));
  const auto part = [](const sim::Prediction& p, sim::Part which) {
    return p.result.breakdown[static_cast<std::size_t>(which)];
  };
  CHECK(skewed.result.step_time > even.result.step_time);
  CHECK(part(even, sim::Part::ExposedEp) > 0);
  // Kernels beside gradient reductions are slowed down a little differently.
  CHECK(part(skewed, sim::Part::Compute) == Approx(part(even, sim::Part::Compute)).epsilon(0.01));
  CHECK(part(skewed, sim::Part::Straggler) > part(even, sim::Part::Straggler));
  double sum = 0;
  for (const double seconds : skewed.result.breakdown) sum += seconds;
  CHECK(sum == Approx(skewed.result.step_time));
}

TEST_CASE("pairs of passes hide exchanges: faster than one after the other, not than the kernels",
          "[moe]") {
  for (const std::string schedule : {"{name: interleaved-1f1b, chunks: 2}", "1f1b"}) {
    const std::string layout = "parallel: {pp: 2, ep: 8}\nschedule: " + schedule +
                               "\nstack: {name: generic, nccl: '2.21'}\n";
    const sim::Prediction alone = sim::predict(small_moe(layout));
    const sim::Prediction paired = sim::predict(small_moe(layout + "moe: {overlap: 1f1b}"));
    const auto part = [](const sim::Prediction& p, sim::Part which) {
      return p.result.breakdown[static_cast<std::size_t>(which)];
    };
    CHECK(paired.result.step_time < alone.result.step_time);
    CHECK(part(paired, sim::Part::ExposedEp) < part(alone, sim::Part::ExposedEp));
    CHECK(part(paired, sim::Part::Compute) >= part(alone, sim::Part::Compute) * (1 - 1e-9));
    double sum = 0;
    for (const double seconds : paired.result.breakdown) sum += seconds;
    CHECK(sum == Approx(paired.result.step_time));
    CHECK(paired.result.traffic_bytes == alone.result.traffic_bytes);
  }
}

TEST_CASE("experts take part in the memory by their share, gradients in edp", "[moe]") {
  const auto states = [](const std::string& more) {
    const Scenario s = small_moe(more);
    const Plan plan = make_plan(s);
    const StageMemory m = stage_memory(s, plan, plan.stages.front());
    return std::pair{m, held_parameters(s, plan.stages.front())};
  };
  const auto [one, held1] = states("parallel: {ep: 1, zero: 1}");
  const auto [eight, held8] = states("parallel: {ep: 8, zero: 1}");
  CHECK(held8.experts == Approx(held1.experts / 8));
  CHECK(held8.dense == Approx(held1.dense));
  // 12 bytes of states each, over the 16 ranks or the 2 that hold the same experts.
  CHECK(one.optimizer == Approx(12 * (held1.dense + held1.experts) / 16));
  CHECK(eight.optimizer == Approx(12 * (held8.dense / 16 + held8.experts / 2)));
  CHECK(one.activation == Approx(eight.activation));  // as many rows as tokens, wherever they go
}

TEST_CASE("tokens that travel in FP8 are 33 of 64 bytes on their way out and whole back", "[moe]") {
  for (const std::string dispatcher : {"all-to-all", "all-gather", "deepep"}) {
    const std::string common = "moe: {dispatcher: " + dispatcher;
    const auto plain = forward(small_moe(common + "}"), 2);
    const auto fp8 = forward(small_moe(common + ", dispatch: fp8}"), 2);
    INFO(dispatcher);
    CHECK(bytes_of(fp8, "dispatch") ==
          Approx(bytes_of(plain, "dispatch") * 33 / 64).epsilon(1e-12));
    CHECK(bytes_of(fp8, "combine") == bytes_of(plain, "combine"));
  }
}

TEST_CASE("experts given in place are those of the config", "[moe]") {
  const auto parse = [](const std::string& model) {
    const base::Document document = base::parse_yaml(model, "test.yaml");
    return read_model(base::Fields(document, document.root), "");
  };
  const Model fields = parse(
      "hidden: 4096\nlayers: 32\nheads: 32\nkv_heads: 8\nvocab: 32000\nactivation: swiglu\n"
      "norm: rmsnorm\ntied: false\nexperts: {count: 8, per_token: 2, width: 14336}\n");
  const Model preset = parse("preset: mixtral-8x7b\n");
  CHECK(total_parameters(fields) == total_parameters(preset));
  CHECK(active_parameters(fields) == active_parameters(preset));
  const Model some = parse(
      "hidden: 2048\nlayers: 12\nheads: 16\nvocab: 32000\nactivation: swiglu\nffn: 8192\nbias: "
      "false\nexperts: {count: 64, per_token: 6, width: 1408, shared_width: 2816, dense_layers: "
      "1}\n");
  CHECK(some.layers.front() == 0);
  CHECK(some.kinds[0].experts.count == 0);
  CHECK(some.kinds[1].mlp.width == 0);
  CHECK(std::count(some.layers.begin(), some.layers.end(), 1) == 11);
}

TEST_CASE("absorbed latent attention does the same product on the latent", "[moe]") {
  const auto scenario = [](const std::string& form) {
    return tests::scenario_of("model: {preset: deepseek-v3, layers: 4, mla: " + form +
                              "}\ncluster: {preset: dgx-h100, nodes: 2}\n"
                              "parallel: {cp: 2, ep: 8, context: all-gather}\n"
                              "batch: {global: 16, micro: 1, sequence: 4096}\n");
  };
  const Scenario expanded = scenario("expanded"), absorbed = scenario("absorbed");
  CHECK(total_parameters(expanded.model) == total_parameters(absorbed.model));
  const auto flops = [](const Scenario& s) {
    std::vector<Op> ops;
    append_core(ops, moe_layer(s), layer_shape(s), Phase::Forward);
    return matrix_flops(ops);
  };
  // 192 + 128 per score and head against 576 + 512.
  CHECK(flops(absorbed) / flops(expanded) == Approx((576.0 + 512) / (192 + 128)));
  const auto keys = [](const Scenario& s) {
    std::vector<Op> ops;
    append_core(ops, moe_layer(s), layer_shape(s), Phase::Forward);
    double sum = 0;
    for (const Op& op : ops) sum += op.kind == OpKind::Collective ? op.bytes : 0;
    return sum;
  };
  CHECK(keys(absorbed) == Approx(4096.0 * 576 * 2));
  CHECK(keys(expanded) == Approx(4096.0 * 128 * (192 + 128) * 2));
  CHECK(activation_bytes(absorbed, moe_layer(absorbed)) >
        activation_bytes(expanded, moe_layer(expanded)));
}

TEST_CASE("every dispatcher brings to the experts what all ranks route, and no more", "[moe]") {
  struct Case {
    std::string dispatcher, parallel;
  };
  for (const Case& c : {Case{"all-to-all", "{ep: 8, sequence_parallel: true}"},
                        Case{"all-to-all", "{tp: 2, ep: 4, etp: 2, sequence_parallel: true}"},
                        Case{"all-gather", "{tp: 2, ep: 8, sequence_parallel: true}"},
                        Case{"deepep", "{ep: 16, sequence_parallel: true}"},
                        Case{"slice", "{tp: 8, ep: 4, etp: 2, sequence_parallel: false}"}}) {
    const Scenario s =
        small_moe("parallel: " + c.parallel + "\nmoe: {dispatcher: " + c.dispatcher + "}");
    const Routed r = routed(s.model, moe_layer(s), layer_shape(s));
    INFO(c.dispatcher << " " << c.parallel);
    // Ranks of a tensor group that hold the same tokens route them once.
    const double routers = s.parallel.sequence_parallel || s.parallel.tp == 1 ? s.parallel.tp : 1;
    const double group = s.parallel.ep * s.parallel.etp;
    const double routed_by_group = r.routes * (c.dispatcher == "slice" ? 1 : group);
    const double computed = r.rows * s.parallel.ep;  // the ranks of an etp group share each row
    CHECK(computed == Approx(routed_by_group));
    CHECK(r.tokens * routers == Approx(4096));
  }
}
