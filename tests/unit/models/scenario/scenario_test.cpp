// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/scenario.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "tests/scenario_of.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::models;
using tests::scenario_of;
using tests::small_gpt;

namespace {

const std::string kMinimal =
    "model: {preset: gpt2}\n"
    "cluster: {preset: dgx-a100, nodes: 2}\n"
    "batch: {global: 32, sequence: 1024}\n";

std::string refused(const std::string& more) {
  return tests::message_of([&] { scenario_of(kMinimal + more); });
}

const std::string kFile = PACELINE_SOURCE "/scenarios/07_gpt3_175b_64_a100.yaml";

Scenario with(const std::vector<std::string>& set) { return read_scenario_file(kFile, set); }

bool assumed(const Scenario& s, const std::string& what) {
  for (const std::string& a : s.assumptions) {
    if (a.find(what) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a scenario of three lines takes every default", "[scenario]") {
  const Scenario s = scenario_of(kMinimal);
  CHECK(s.name == "test");
  CHECK(s.file == "test.yaml");
  CHECK(s.stack.name == "generic");
  CHECK(assumed(s, "no stack named"));
  CHECK(s.attention == s.stack.attention);
  CHECK(s.precision == Precision::Bf16);
  CHECK(s.recompute == Recompute::None);
  CHECK(s.optimizer.name == "adamw");
  CHECK(s.optimizer.master == Precision::Fp32);
  CHECK(s.batch.micro == 1);
  CHECK(s.schedule.name == "1f1b");
  CHECK(s.schedule.chunks == 1);
  CHECK(s.parallel.tp == 1);
  CHECK(s.parallel.dp == 16);  // derived: all devices
  CHECK(s.parallel.zero == 0);
  CHECK(s.parallel.order == std::vector<std::string>{"tp", "cp", "ep", "dp", "pp"});
  CHECK_FALSE(s.costs);
  CHECK(s.run_tokens == 0);
}

TEST_CASE("compression is a list of rules, a price may be only a name", "[scenario]") {
  const std::string named = kMinimal + "run: {tokens: 1e12, price: on-demand}\n";
  CHECK(scenario_of(named + "compression: []").run_tokens == 1e12);
  CHECK(assumed(scenario_of(named), "run.price 'on-demand' names nobody's price"));
  CHECK_FALSE(assumed(scenario_of(kMinimal + "run: {tokens: 5}"), "price"));
  CHECK(scenario_of(named + "compression: [{group: dp, codec: fp8-e4m3}]").compression.size() == 1);
  CHECK(refused("compression: [{group: dp, codec: fp8}]").find("fp8-e4m3") != std::string::npos);
  CHECK(refused("compression: [{group: gp, codec: int8}]").find("dp") != std::string::npos);
  CHECK(refused("compression: [{group: dp, codec: top-k, keep: 0}]").find("not above 0") !=
        std::string::npos);
  CHECK(refused("compression: [{group: dp, codec: int8, keep: 0.1}]").find("keep") !=
        std::string::npos);
  CHECK(refused("compression: fp8").find("test.yaml:4:14: compression: ") == 0);
  CHECK(scenario_of(kMinimal + "run: {price: spot}").run_tokens == 0);
  CHECK(refused("run: {tokens: 1, price: ''}").find("run.price: unknown price ''") !=
        std::string::npos);
  CHECK(refused("run: {tokens: 1, price: [1]}").find("run.price") != std::string::npos);
}

TEST_CASE("dp is what the other degrees leave of the cluster", "[scenario]") {
  CHECK(scenario_of(kMinimal + "parallel: {tp: 4}").parallel.dp == 4);
  CHECK(scenario_of(kMinimal + "parallel: {tp: 2, pp: 2, cp: 2}").parallel.dp == 2);
  const std::string message = refused("parallel: {tp: 3}");
  CHECK(message ==
        "test.yaml:4:16: parallel.tp: tp*pp*cp = 3 does not divide the 16 devices of the "
        "cluster; change a degree or the number of nodes, or say dp");
}

TEST_CASE("dp as stated may use part of the cluster, never more", "[scenario]") {
  const Scenario s = scenario_of(kMinimal + "parallel: {tp: 3, dp: 2}");
  CHECK(s.parallel.world_size() == 6);
  CHECK(assumed(s, "uses 6 of the 16 devices"));
  CHECK(refused("parallel: {tp: 3, dp: 8}") ==
        "test.yaml:4:23: parallel.dp: tp*pp*cp*dp needs 24 devices, the cluster has 16; more nodes "
        "or "
        "smaller degrees");
}

TEST_CASE("every kind of wrong value is refused at its place", "[scenario]") {
  const std::pair<const char*, const char*> cases[] = {
      {"parallel: {order: tp-pp}", "test.yaml:4:19: parallel.order: 'tp-pp' must name"},
      {"parallel: {order: tp-tp-ep-dp-pp}", "parallel.order: "},
      {"parallel: {order: tp-cp-ep-dp-pp-}", "parallel.order: "},
      {"parallel: {tp: 0}", "test.yaml:4:16: parallel.tp: "},
      {"parallel: {tp: -1}", "test.yaml:4:16: parallel.tp: "},
      {"parallel: {tp: 1.5}", "test.yaml:4:16: parallel.tp: "},
      {"parallel: {zero: 4}", "test.yaml:4:18: parallel.zero: "},
      {"parallel: {shard: 3}", "test.yaml:4:19: parallel.shard: 3 does not divide dp = 16"},
      {"parallel: {context: rings}", "did you mean 'ring'?"},
      {"parallel: {stage_layers: [6, x]}", "test.yaml:4:30: parallel.stage_layers: "},
      {"parallel: {stage_layers: 12}", "expected a list"},
      {"parallel: 8", "test.yaml:4:11: parallel: expected a map"},
      {"paralell: {tp: 2}", "test.yaml:4:1: paralell: unknown key; did you mean 'parallel'?"},
      {"parallel: {tpp: 2}", "test.yaml:4:12: parallel.tpp: unknown key"},
      {"schedule: {name: 1f1b, chunk: 2}", "schedule.chunk: unknown key"},
      {"schedule: {name: 1f1b, dispatch: redy}", "schedule.dispatch: "},
      {"schedule: {chunks: 2}", "schedule.name: is missing"},
      {"optimizer: lion",
       "test.yaml:4:12: optimizer: unknown optimizer 'lion'; one of adam, adamw, sgd"},
      {"optimizer: {name: adam, stats: bf16}", "optimizer.stats: unknown key"},
      {"precision: bf17", "did you mean 'bf16'?"},
      {"precision: fp8", "test.yaml:4:12: precision: "},
      {"recompute: blockwise", "recompute_layers: is missing"},
      {"recompute_layers: 3", "only means something with recompute: blockwise"},
      {"recompute: {full: 1}", "test.yaml:4:12: recompute: "},
      {"costs: {forward: 3}", "test.yaml:4:18: costs.forward: "},
      {"costs: {forward: 3 ms}", "costs.input_gradient: is missing"},
      {"run: {tokens: 0}", "test.yaml:4:15: run.tokens: "},
      {"stack: nope", "test.yaml:4:8: stack: unknown stack"},
      {"stack: [generic]", "test.yaml:4:8: stack: must be a name"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string message = refused(text);
    INFO(text << " -> " << message);
    CHECK(message.find(expected) != std::string::npos);
    CHECK(message.starts_with("test.yaml:"));
  }
}

TEST_CASE("what must be there is asked for", "[scenario]") {
  const auto without = [](const std::string& text) {
    return tests::message_of([&] { scenario_of(text); });
  };
  CHECK(without("cluster: {preset: dgx-a100}\nbatch: {global: 8, sequence: 8}")
            .find("model: is missing") != std::string::npos);
  CHECK(without("model: {preset: gpt2}\nbatch: {global: 8, sequence: 8}")
            .find("cluster: is missing") != std::string::npos);
  CHECK(without("model: {preset: gpt2}\ncluster: {preset: dgx-a100, nodes: 1}")
            .find("batch: is missing") != std::string::npos);
  CHECK(without("model: {preset: gpt2}\ncluster: {preset: dgx-a100, nodes: 1}\nbatch: {global: 8}")
            .find("batch.sequence: is missing") != std::string::npos);
}

TEST_CASE("an attention kernel the profile has not measured gives way to one it has, and says so",
          "[scenario]") {
  for (const std::string& name : spec_names("cluster")) {
    const Scenario s = scenario_of(
        "model: {preset: gpt2}\nbatch: {global: 32, sequence: 1024}\n"
        "parallel: {dp: 1}\nprecision: fp16\ncluster: {preset: " +
        name + ", nodes: 1}\n");
    CAPTURE(name, s.attention, s.stack.attention);
    CHECK((s.attention == s.stack.attention) != assumed(s, "attention kernel not named"));
  }
}

TEST_CASE("assignments change single values of a file", "[scenario]") {
  CHECK(with({"parallel.tp=4", "parallel.pp=4"}).parallel.tp == 4);
  CHECK(with({"batch.micro=2"}).batch.micro == 2);
  CHECK(with({"recompute=full"}).recompute == Recompute::Full);
  CHECK(with({"parallel={tp: 2}"}).parallel.pp == 1);
  CHECK(with({"stack=generic"}).stack.name == "generic");
  CHECK(with({"batch.micro=2", "batch.micro=4"}).batch.micro == 4);  // the last one wins
  CHECK(with({}).hash == with({"batch.micro=1"}).hash);
  CHECK(with({}).hash != with({"batch.micro=2"}).hash);
}

TEST_CASE("assignments are refused with what was wrong about them", "[scenario]") {
  const auto message = [](const std::string& set) {
    return tests::message_of([&] { with({set}); });
  };
  CHECK(message("parallel.tp").find("is no path=value") != std::string::npos);
  CHECK(message("=3").find("is no path=value") != std::string::npos);
  CHECK(message("parallel.tp=x").find("--set") != std::string::npos);
  CHECK(message("parallel.tq=2").find("parallel.tq") != std::string::npos);
}

TEST_CASE("the hash tells scenarios apart by everything that changes an answer", "[scenario]") {
  const std::string plain = small_gpt("stack: {name: generic}").hash;
  for (const char* more : {
           "stack: {name: generic, norm: eager}",
           "stack: {name: generic, fused_rotary: false}",
           "stack: {name: generic, fused_activation: false}",
           "stack: {name: generic, dropout: true}",
           "stack: {name: generic, fused_bias_dropout: false}",
           "stack: {name: generic, accumulation: autograd-16}",
           "stack: {name: generic, gradient_reduce: bf16}",
           "stack: {name: generic, loss: torch}",
           "stack: {name: generic, recompute_stops_early: true}",
           "stack: {name: generic, zero_all_reduce: true}",
           "stack: {name: generic, p2p_scatter_gather: true}",
           "stack: {name: generic, p2p_blocking: true}",
           "stack: {name: generic, blocking_launch: true}",
           "stack: {name: generic, partition: balanced}",
           "stack: {name: generic, tp_overlap: bulk}",
           "stack: {name: generic, dp_overlap: none}",
           "stack: {name: generic, sharded_logits: false}",
           "stack: {name: generic, nccl: \"2.8\"}",
           "attention: eager",
           "recompute: full",
           "optimizer: sgd",
           "optimizer: {name: adamw, states: bf16}",
           "precision: fp16",
           "parallel: {order: pp-dp-ep-cp-tp}",
           "parallel: {sequence_parallel: true}",
           "parallel: {context: all-gather}",
           "parallel: {zero: 1}",
           "parallel: {pp: 2}",
           "parallel: {stage_layers: [16]}",
           "schedule: gpipe",
           "batch: {micro: 1}",
           "model: {layers: 12}",
           "model: {tied: false}",
           "model: {ffn: 2048}",
           "model: {norm: rmsnorm}",
           "model: {activation: squared-relu}",
           "model: {positions: 1024}",
           "cluster: {nodes: 2}",
           "cluster: {oversubscription: 2}",
           "costs: {forward: 1 ms, input_gradient: 1 ms}",
           "run: {tokens: 1e9}",
       }) {
    INFO(more);
    CHECK(small_gpt(more).hash != plain);
  }
  const std::string costs = "costs: {forward: 1 ms, input_gradient: 1 ms";
  CHECK(small_gpt(costs + "}").hash != small_gpt(costs + ", activation: 1 GiB}").hash);
  CHECK(small_gpt(costs + "}").hash != small_gpt(costs + ", layers: 4}").hash);
}

TEST_CASE("the resolved text is YAML that names every default", "[scenario]") {
  const Scenario s = scenario_of("name: \"a \\\"quoted\\\" name: x\"\n" + kMinimal);
  const base::Document document = base::parse_yaml(s.resolved, "resolved.yaml");
  const auto text = [&](const char* path) {
    const base::Value* value = base::find_path(document.root, path);
    REQUIRE(value != nullptr);
    return value->text;
  };
  CHECK(text("name") == "a \"quoted\" name: x");
  CHECK(text("parallel.dp") == "16");
  CHECK(text("parallel.order") == "tp-cp-ep-dp-pp");
  CHECK(text("schedule.name") == "1f1b");
  CHECK(text("batch.micro") == "1");
  CHECK(text("optimizer.name") == "adamw");
}

TEST_CASE("profiles and tables are one for each group of nodes", "[scenario]") {
  const Scenario s = scenario_of(
      "model: {preset: gpt2}\nbatch: {global: 32, sequence: 1024}\n"
      "cluster: {groups: [{preset: dgx-a100, nodes: 1}, {preset: dgx-h100, nodes: 1}]}\n");
  REQUIRE(s.profiles.size() == 2);
  CHECK(s.tables.size() == 2);
  CHECK(s.profiles[0].name == s.cluster.groups[0].device.profile);
  CHECK(s.profiles[1].name == s.cluster.groups[1].device.profile);
}
