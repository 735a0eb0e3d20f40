// SPDX-License-Identifier: Apache-2.0
#include "models/parallel/plan.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/scenario_of.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::models;
using tests::small_gpt;

namespace {

Plan plan_of(const std::string& more) { return make_plan(small_gpt(more)); }

std::vector<int> layers_of(const Plan& plan) {
  std::vector<int> out;
  int next = 0;
  for (const Stage& stage : plan.stages) {
    CHECK(stage.first_layer == next);
    next += stage.layers;
    out.push_back(stage.layers);
  }
  return out;
}

std::vector<int> split(int layers, int pp, const std::string& partition, int chunks = 1) {
  const Plan plan = plan_of("{model: {layers: " + std::to_string(layers) +
                            "}, parallel: {pp: " + std::to_string(pp) +
                            "}, schedule: {name: breadth-first, chunks: " + std::to_string(chunks) +
                            "}, stack: {name: generic, partition: " + partition + "}}");
  return layers_of(plan);
}

std::string refused(const std::string& more) {
  return tests::message_of([&] { plan_of(more); });
}

void check_refused(const std::string& more, const std::string& key, const std::string& problem,
                   const std::string& hint) {
  const std::string message = refused(more);
  INFO(more << " -> " << message);
  // The line and column of the key, then the key.
  CHECK(message.find("test.yaml:1:") == 0);
  CHECK(message.find(": " + key + ": ") != std::string::npos);
  CHECK(message.find(problem) != std::string::npos);
  CHECK(message.find("; " + hint) != std::string::npos);
}

using Layers = std::vector<int>;

}  // namespace

TEST_CASE("axes are laid out innermost first in the stated order", "[plan]") {
  const Plan plan =
      plan_of("{cluster: {preset: dgx-a100, nodes: 6}, parallel: {tp: 2, cp: 2, dp: 2, pp: 4}}");
  const Mesh& mesh = plan.meshes.front();
  CHECK(mesh.axis("tp").stride == 1);
  CHECK(mesh.axis("cp").stride == 2);
  CHECK(mesh.axis("dp").stride == 4);
  CHECK(mesh.axis("pp").stride == 8);
  CHECK(mesh.ranks() == 32);
  CHECK(plan.world_size == 32);
  CHECK(plan.members_per_lane == 8);
}

TEST_CASE("another order gives other strides and the same sizes", "[plan]") {
  const Plan plan = plan_of(
      "{cluster: {preset: dgx-a100, nodes: 4}, parallel: {tp: 2, cp: 2, dp: 2, pp: 4, order: "
      "pp-dp-tp-ep-cp}}");
  const Mesh& mesh = plan.meshes.front();
  CHECK(mesh.axis("pp").stride == 1);
  CHECK(mesh.axis("dp").stride == 4);
  CHECK(mesh.axis("tp").stride == 8);
  CHECK(mesh.axis("cp").stride == 16);
  CHECK(mesh.axis("ep").size == 1);
  CHECK(mesh.ranks() == 32);
}

TEST_CASE("every order covers each rank once", "[plan]") {
  for (const char* order :
       {"tp-cp-ep-dp-pp", "pp-dp-ep-cp-tp", "dp-tp-pp-cp-ep", "cp-pp-tp-dp-ep"}) {
    const Plan plan = plan_of(std::string("{cluster: {preset: dgx-a100, nodes: 3}, parallel: {tp: "
                                          "2, cp: 2, dp: 2, pp: 3, order: ") +
                              order + "}, model: {layers: 15}}");
    std::vector<int> seen(24, 0);
    const Mesh& mesh = plan.meshes.front();
    for (int i = 0; i < 24; ++i) {
      int rank = 0, rest = i;
      for (const MeshAxis& axis : mesh.axes) {
        rank += rest % axis.size * axis.stride;
        rest /= axis.size;
      }
      ++seen[static_cast<std::size_t>(rank)];
    }
    CHECK(seen == std::vector<int>(24, 1));
  }
}

TEST_CASE("an axis the mesh lacks has one rank", "[plan]") {
  const MeshAxis axis = plan_of("").meshes.front().axis("zz");
  CHECK(axis.size == 1);
  CHECK(axis.stride == 1);
}

TEST_CASE("layers that divide are dealt evenly by every rule", "[plan]") {
  for (const char* rule : {"even", "balanced", "embedding-and-head"}) {
    CHECK(split(16, 4, rule) == Layers{4, 4, 4, 4});
    CHECK(split(16, 1, rule) == Layers{16});
    CHECK(split(16, 4, rule, 2) == Layers(8, 2));
  }
}

TEST_CASE("layers that do not divide follow the stack's rule", "[plan]") {
  CHECK(split(50, 8, "even") == Layers{7, 7, 7, 7, 7, 7, 7, 1});
  CHECK(split(50, 8, "balanced") == Layers{7, 7, 6, 6, 6, 6, 6, 6});
  CHECK(split(30, 8, "embedding-and-head") == Layers{3, 4, 4, 4, 4, 4, 4, 3});
  CHECK(split(14, 4, "embedding-and-head", 2) == Layers{1, 2, 2, 2, 2, 2, 2, 1});
  // Ceil first would be 2, 2, 2, 2, 2, 0, 0, 0.
  CHECK(split(10, 8, "even") == Layers{2, 2, 1, 1, 1, 1, 1, 1});
  // L + 2 does not divide either: ceil first.
  CHECK(split(15, 4, "embedding-and-head") == Layers{4, 4, 4, 3});
}

TEST_CASE("no rule leaves a stage without a layer", "[plan]") {
  for (const char* rule : {"even", "balanced", "embedding-and-head"}) {
    for (int layers = 1; layers <= 40; layers += layers < 10 ? 1 : 6) {
      for (int pp = 1; pp <= std::min(layers, 8); ++pp) {
        CAPTURE(rule, layers, pp);
        int sum = 0;
        for (const int n : split(layers, pp, rule)) {
          CHECK(n >= 1);
          sum += n;
        }
        CHECK(sum == layers);
      }
    }
  }
}

TEST_CASE("stated stage layers win over every rule", "[plan]") {
  const Plan plan = plan_of("parallel: {pp: 4, stage_layers: [3, 5, 5, 3]}");
  CHECK(layers_of(plan) == Layers{3, 5, 5, 3});
}

TEST_CASE("the first stage embeds, the last holds the head, one stage does both", "[plan]") {
  const Plan plan = plan_of("parallel: {pp: 4}");
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(plan.stages[i].embedding == (i == 0));
    CHECK(plan.stages[i].head == (i == 3));
  }
  const Plan one = plan_of("");
  REQUIRE(one.stages.size() == 1);
  CHECK(one.stages[0].embedding);
  CHECK(one.stages[0].head);
}

TEST_CASE("a batch gives its microbatches and tokens of a rank", "[plan]") {
  const Plan plan =
      plan_of("parallel: {dp: 4, cp: 2}\nbatch: {global: 64, micro: 2, sequence: 512}");
  CHECK(plan.microbatches == 8);
  CHECK(plan.tokens == 512);
}

TEST_CASE("what does not divide is refused with its key and the values that would", "[plan]") {
  check_refused("parallel: {tp: 3}", "parallel.tp", "3 does not divide 16 attention heads",
                "try 1, 2, 4, 8, 16");
  check_refused("{parallel: {tp: 8}, model: {heads: 16, ffn: 4100}}", "parallel.tp",
                "8 does not divide 4100 (MLP width)", "try 1, 2, 4, 5,");
  check_refused("{parallel: {tp: 4}, model: {heads: 12, kv_heads: 6, head_dim: 64}}", "parallel.tp",
                "4 neither divides 6 key/value heads nor is a multiple", "try 1, 2, 3, 6");
  check_refused("parallel: {dp: 5}", "parallel.dp",
                "5 does not divide 64 sequences of batch.global", "try 1, 2, 4, 8, 16, 32, 64");
  check_refused("{parallel: {dp: 4}, batch: {micro: 3}}", "batch.micro",
                "3 does not divide 16 sequences of a replica", "try 1, 2, 4, 8, 16");
  check_refused("parallel: {cp: 3}", "parallel.cp",
                "2*cp = 6 chunks do not divide 512 tokens of batch.sequence", "try 1, 2, 4, 8");
  check_refused("{parallel: {cp: 2}, batch: {sequence: 511}}", "parallel.cp",
                "2*cp = 4 chunks do not divide 511 tokens", "try 1");
  check_refused("{parallel: {tp: 8, sequence_parallel: true}, batch: {sequence: 500}}",
                "parallel.tp", "8 does not divide 500 tokens of a rank", "try 1, 2, 4, 5");
  check_refused("parallel: {ep: 2}", "parallel.ep", "mixture-of-experts", "set ep and etp to 1");
  check_refused("parallel: {etp: 2}", "parallel.etp", "mixture-of-experts", "set ep and etp to 1");
}

TEST_CASE("stages that do not fit the layers are refused", "[plan]") {
  check_refused("{parallel: {pp: 8}, model: {layers: 4}}", "parallel.pp",
                "pp*chunks = 8 stages for 4 layers", "at most one stage per layer");
  check_refused("{parallel: {pp: 4}, schedule: {name: interleaved-1f1b, chunks: 3}}",
                "schedule.chunks", "3 chunks of 4 stages do not divide 16 layers",
                "try pp*chunks = 1, 2, 4, 8, 16, or parallel.stage_layers");
  check_refused("parallel: {pp: 4, stage_layers: [8, 8]}", "parallel.stage_layers", "has 2 entries",
                "pp*chunks = 4 are needed");
  check_refused("parallel: {pp: 2, stage_layers: [8, 7]}", "parallel.stage_layers", "adds up to 15",
                "the model has 16 layers");
}

TEST_CASE("models that are not timed yet are refused by name", "[plan]") {
  const std::string moe = tests::message_of([] {
    make_plan(
        tests::scenario_of("model: {preset: mixtral-8x7b}\ncluster: {preset: dgx-a100, nodes: 1}\n"
                           "batch: {global: 8, micro: 1, sequence: 512}\n"));
  });
  CHECK(moe.find("test.yaml:1:") == 0);
  CHECK(moe.find(": model: mixture-of-experts layers are not timed") != std::string::npos);
}

TEST_CASE("a mixture of experts is laid out, its degrees checked", "[plan]") {
  const auto laid_out = [](const std::string& parallel) {
    return lay_out(
        tests::scenario_of("model: {preset: mixtral-8x7b}\ncluster: {preset: dgx-a100, nodes: 3}\n"
                           "batch: {global: 24, micro: 1, sequence: 512}\nparallel: " +
                           parallel));
  };
  CHECK(laid_out("{pp: 2, tp: 2, dp: 4, ep: 4, etp: 2}").stages.size() == 2);
  const auto refused = [&](const std::string& parallel) {
    return tests::message_of([&] { laid_out(parallel); });
  };
  CHECK(refused("{ep: 3}").find("parallel.ep: 3 does not divide 8 experts; try 1, 2, 4, 8") !=
        std::string::npos);
  CHECK(refused("{etp: 3}").find("parallel.etp: 3 does not divide 14336") != std::string::npos);
  CHECK(refused("{tp: 2, dp: 3, ep: 4}").find("ep*etp = 4 does not divide the 6 ranks") !=
        std::string::npos);
}

TEST_CASE("questions too large to simulate are refused at once", "[plan]") {
  check_refused("batch: {global: 1099511627776, micro: 1, sequence: 512}", "batch.global",
                "too many to simulate", "a smaller batch or a larger batch.micro");
  check_refused(
      "{cluster: {preset: dgx-a100, nodes: 500000}, parallel: {pp: 4000000}, schedule: {name: "
      "breadth-first, chunks: 10000}, batch: {global: 1099511627776, micro: 1}}",
      "batch.global", "too many to simulate", "a smaller batch or a larger batch.micro");
}

TEST_CASE("a message about a large prime names its divisors without delay", "[plan]") {
  // 2^40 - 87 is prime.
  check_refused("{parallel: {dp: 8}, batch: {global: 1099511627689, micro: 1}}", "parallel.dp",
                "8 does not divide 1099511627689", "try 1, 1099511627689");
}

TEST_CASE("degrees whose product passes 2^63 are refused, not wrapped around", "[plan]") {
  const std::string message =
      refused("parallel: {tp: 4194304, pp: 4194304, cp: 4194304, dp: 4194304}");
  INFO(message);
  CHECK(message.find("parallel.dp: tp*pp*cp*dp needs 10^12 or more devices") != std::string::npos);
  CHECK(message.find("the cluster has 8") != std::string::npos);
  CHECK(
      refused("parallel: {tp: 4194304, pp: 4194304, cp: 1048576, dp: null}").find("parallel.tp") !=
      std::string::npos);
}

TEST_CASE("groups follow the layout of the cluster", "[plan]") {
  const Scenario s = small_gpt("{cluster: {preset: dgx-a100, nodes: 4}, parallel: {tp: 8, dp: 4}}");
  const Plan plan = make_plan(s);
  using Names = std::vector<std::string_view>;
  const CollectiveGroup tp = group_of(plan, s, Names{"tp"});
  CHECK(tp.ranks == 8);
  CHECK(tp.domains == 1);
  CHECK(tp.per_domain == 8);
  const CollectiveGroup dp = group_of(plan, s, Names{"dp"});
  CHECK(dp.ranks == 4);
  CHECK(dp.domains == 4);
  CHECK(dp.per_domain == 1);
  CHECK(group_of(plan, s, Names{"tp", "dp"}).ranks == 32);
  CHECK(group_of(plan, s, Names{"cp"}).ranks == 1);
  CHECK(pair_of(s, 0, 7).domains == 1);
  CHECK(pair_of(s, 0, 8).domains == 2);
}
