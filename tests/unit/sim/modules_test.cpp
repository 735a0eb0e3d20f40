// SPDX-License-Identifier: Apache-2.0
#include "sim/modules.hpp"

#include <catch2/catch.hpp>

#include "models/parallel/boundary.hpp"
#include "sim/lower/lower.hpp"
#include "sim/measure.hpp"
#include "sim/predict.hpp"
#include "sim/verify.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::sim;
using tests::scenario_of;

namespace {

constexpr const char* kLanguage = "hidden: 1024, layers: 8, heads: 16, ffn: 4096, vocab: 32000";
constexpr const char* kVision = "hidden: 512, layers: 4, heads: 8, ffn: 2048, causal: false";

/// A vision encoder, which says `vision` of itself, and a language model.
std::string two_modules(const std::string& vision, const std::string& language,
                        const std::string& more = "", int nodes = 2) {
  return "model:\n  modules:\n"
         "    - {name: language, model: {" +
         std::string(kLanguage) + "}, " + language +
         "}\n"
         "    - {name: vision, feeds: language, tokens: 256, sends: 64, width: 1024, model: {" +
         kVision + "}, " + vision +
         "}\n"
         "cluster: {preset: dgx-a100, nodes: " +
         std::to_string(nodes) +
         "}\n"
         "batch: {global: 32, micro: 1, sequence: 512}\n" +
         more;
}

double sent(const Prediction& p, Stream stream) {
  return p.result.traffic_bytes[static_cast<std::size_t>(stream)];
}

/// Bytes of all samples of a step: 32 of 64 tokens of 1024 in 16 bits.
constexpr double kSamples = 32.0 * 64 * 1024 * 2;

/// What the language model's own pipeline sends one way, tp 2 x pp 2 x dp 2.
double pipeline_bytes() {
  return sent(predict(scenario_of("model: {" + std::string(kLanguage) +
                                  "}\nparallel: {tp: 2, pp: 2, dp: 2}\n"
                                  "cluster: {preset: dgx-a100, nodes: 1}\n"
                                  "batch: {global: 32, micro: 1, sequence: 512}\n")),
              Stream::PpDown);
}

}  // namespace

TEST_CASE("a graph of one module is the plain model, bit for bit", "[sim]") {
  struct Case {
    std::string model, layout, more;
  };
  const Case c = GENERATE(
      Case{kLanguage, "{tp: 2, pp: 2, zero: 1}", "schedule: {name: interleaved-1f1b, chunks: 2}\n"},
      Case{"preset: qwen3-30b-a3b, layers: 4",
           "{pp: 2, cp: 2, dp: 2, ep: 4, zero: 1, sequence_parallel: true, context: ulysses}",
           "moe: {imbalance: {law: zipf, exponent: 0.5}}\n"});
  const std::string rest =
      "cluster: {preset: dgx-a100, nodes: 1}\nbatch: {global: 32, micro: 1, sequence: 512}\n" +
      c.more;
  const Prediction plain =
      predict(scenario_of("model: {" + c.model + "}\nparallel: " + c.layout + "\n" + rest));
  const Prediction graph = predict(scenario_of("model: {modules: [{name: all, model: {" + c.model +
                                               "}, parallel: " + c.layout + "}]}\n" + rest));
  CHECK(graph.program == plain.program);
  CHECK(graph.timeline.start == plain.timeline.start);
  CHECK(graph.timeline.finish == plain.timeline.finish);
  CHECK(graph.result.step_time == plain.result.step_time);
  CHECK(graph.result.breakdown == plain.result.breakdown);
  CHECK(graph.result.traffic_bytes == plain.result.traffic_bytes);
  CHECK(graph.result.model_flops == plain.result.model_flops);
  CHECK(graph.result.assumptions == plain.result.assumptions);
  CHECK(graph.result.warnings == plain.result.warnings);
  REQUIRE(graph.result.memory.size() == plain.result.memory.size());
  for (std::size_t i = 0; i < graph.result.memory.size(); ++i)
    CHECK(graph.result.memory[i].parts == plain.result.memory[i].parts);
}

TEST_CASE("between modules with ranks of their own every sample goes to every rank that needs it",
          "[sim]") {
  // dp 8 x tp 1 to dp 2 x tp 2 with two stages.
  const Prediction p =
      predict(scenario_of(two_modules("parallel: {dp: 8}", "parallel: {tp: 2, pp: 2, dp: 2}")));
  CHECK(sent(p, Stream::PpDown) == Approx(kSamples * 2 + pipeline_bytes()).epsilon(1e-12));
  CHECK(sent(p, Stream::PpUp) == Approx(kSamples * 1 + pipeline_bytes()).epsilon(1e-12));
  CHECK(p.plan.world_size == 16);
  CHECK_NOTHROW(verify(p.program));
  CHECK(parse_program(to_text(p.program), "again") == p.program);
}

TEST_CASE("fan-in on shared ranks gathers forward and gives gradients to later stages", "[sim]") {
  // dp 8 on all ranks of tp 2 x dp 2 x pp 2: fan-in of 4.
  const Prediction p = predict(scenario_of(two_modules(
      "colocated_with: language, parallel: {dp: 8}", "parallel: {tp: 2, pp: 2, dp: 2}", "", 1)));
  CHECK(sent(p, Stream::PpDown) == Approx(kSamples * 3 + pipeline_bytes()).epsilon(1e-12));
  CHECK(sent(p, Stream::PpUp) == Approx(kSamples * 2 + pipeline_bytes()).epsilon(1e-12));
  // All forwards of the encoder come before the pipeline's first.
  for (const auto& order : p.program.order) {
    CHECK(order.front().stage < 2);
    CHECK(order.back().stage < 2);
  }
}

TEST_CASE("fan-out on shared ranks gathers gradients only", "[sim]") {
  // dp 2 x tp 4 to dp 8: every rank takes its part of what it has, and misses 3 quarters coming
  // back.
  const Prediction p = predict(scenario_of(two_modules(
      "colocated_with: language, micro: 4, parallel: {tp: 4, dp: 2}", "parallel: {dp: 8}", "", 1)));
  CHECK(sent(p, Stream::PpDown) == 0);
  CHECK(sent(p, Stream::PpUp) == Approx(kSamples * 3).epsilon(1e-12));
}

TEST_CASE("the same layout on the same ranks sends nothing", "[sim]") {
  const Prediction p = predict(scenario_of(two_modules(
      "colocated_with: language, parallel: {tp: 2, dp: 4}", "parallel: {tp: 2, dp: 4}", "", 1)));
  CHECK(sent(p, Stream::PpDown) == 0);
  CHECK(sent(p, Stream::PpUp) == 0);
}

TEST_CASE("a frozen encoder has no gradients, no optimizer and no backward", "[sim]") {
  const std::string language = "parallel: {tp: 2, dp: 4}";
  const Prediction trained = predict(scenario_of(two_modules("parallel: {dp: 8}", language)));
  const Prediction frozen =
      predict(scenario_of(two_modules("frozen: true, parallel: {dp: 8}", language)));
  CHECK(sent(frozen, Stream::PpUp) == 0);
  CHECK(frozen.result.step_time <= trained.result.step_time);
  CHECK(frozen.result.model_flops < trained.result.model_flops);
  const auto& encoder = frozen.result.memory.at(1);  // the module listed second
  CHECK(encoder.parts[static_cast<std::size_t>(MemoryPart::Gradients)] == 0);
  CHECK(encoder.parts[static_cast<std::size_t>(MemoryPart::Optimizer)] == 0);
  for (const Action& action : frozen.program.order.at(1))
    CHECK(frozen.program.passes[action.pass].name == "F");
}

TEST_CASE("a frozen module between trained ones passes gradients on and keeps its weights",
          "[sim]") {
  const auto flops = [](const std::string& language) {
    return predict(scenario_of(two_modules("parallel: {dp: 8}", language))).result;
  };
  const Result trained = flops("parallel: {tp: 2, dp: 4}");
  const Result frozen = flops("frozen: true, parallel: {tp: 2, dp: 4}");
  // Weight gradients are a third of the language model's arithmetic.
  CHECK(frozen.hardware_flops < trained.hardware_flops);
  CHECK(frozen.traffic_bytes[static_cast<std::size_t>(Stream::PpUp)] ==
        trained.traffic_bytes[static_cast<std::size_t>(Stream::PpUp)]);
}

TEST_CASE("a producer runs no further ahead than its pool holds", "[sim]") {
  const auto made_before_first_taken = [](int ahead) {
    const Prediction p = predict(scenario_of(two_modules(
        "frozen: true, micro: 1, ahead: " + std::to_string(ahead) + ", parallel: {dp: 4}",
        "parallel: {tp: 2, dp: 4}")));
    double taken = 0;
    for (TaskId t = 0; t < p.graph.tasks.size() && taken == 0; ++t)
      if (p.graph.tasks[t].lane == 0 && p.graph.tasks[t].kind == TaskKind::Action)
        taken = p.timeline.finish[t];
    int made = 0;
    for (TaskId t = 0; t < p.graph.tasks.size(); ++t)
      if (p.graph.tasks[t].lane == 1 && p.graph.tasks[t].kind == TaskKind::Action)
        made += p.timeline.start[t] < taken ? 1 : 0;
    return made;
  };
  CHECK(made_before_first_taken(1) == 1);
  CHECK(made_before_first_taken(3) == 3);
}

TEST_CASE("microbatches of modules may be of different sizes", "[sim]") {
  // The encoder takes 4 samples at a time, the language model one.
  const Prediction p = predict(
      scenario_of(two_modules("micro: 4, parallel: {dp: 2}", "parallel: {tp: 2, pp: 2, dp: 2}")));
  CHECK(p.program.microbatches == 16);
  CHECK(p.program.nodes.at(0).span == 4);
  CHECK(sent(p, Stream::PpDown) == Approx(kSamples * 2 + pipeline_bytes()).epsilon(1e-12));
}

TEST_CASE("a skip connection between stages is one more message each way", "[sim]") {
  const models::Scenario s = tests::small_gpt("parallel: {pp: 4}\nbatch: {global: 8}\n");
  const models::Plan plan = models::make_plan(s);
  const auto messages = [&](const Program& program) {
    int count = 0;
    for (const Task& task : lower(s, plan, program).tasks)
      count += task.kind == TaskKind::Message ? 1 : 0;
    return count;
  };
  const Program chain = make_program(s, plan);
  Program graph = chain;
  graph.nodes = {{{}}, {{0}}, {{1}}, {{2, 0}}};
  CHECK_NOTHROW(verify(graph));
  CHECK(messages(chain) == 2 * 3 * 4);
  CHECK(messages(graph) == 2 * 4 * 4);
}

TEST_CASE("bytes of a boundary are those of its closed form, both ways", "[models]") {
  const models::Scenario s =
      scenario_of(two_modules("parallel: {dp: 8}", "parallel: {tp: 2, pp: 2, dp: 2}"));
  const models::Plan plan = models::make_plan(s);
  const double sample = 64.0 * 1024 * 2;
  CHECK(models::forward_boundary(s, plan, 1).bytes == 8 * sample * 2);
  CHECK(models::backward_boundary(s, plan, 1, false).bytes == 2 * sample * 1);
}

TEST_CASE("a resolved scenario of modules reads back as itself", "[models]") {
  const models::Scenario s = scenario_of(two_modules("colocated_with: language, parallel: {dp: 8}",
                                                     "parallel: {tp: 2, pp: 2, dp: 2}", "", 1));
  const models::Scenario again = models::read_scenario(base::parse_yaml(s.resolved, "test.yaml"));
  CHECK(again.resolved == s.resolved);
  CHECK(again.hash == s.hash);
}

TEST_CASE("modules that cannot lie as stated are refused with the nearest valid choice",
          "[models]") {
  const auto refused = [](const std::string& yaml, const std::string& words) {
    CHECK_THROWS_WITH(predict(scenario_of(yaml)), Catch::Contains(words));
  };
  refused(two_modules("first_rank: 0, parallel: {dp: 8}", "parallel: {tp: 2, dp: 4}"), "overlap");
  refused(
      two_modules("colocated_with: language, parallel: {dp: 2}", "parallel: {tp: 2, pp: 2, dp: 2}"),
      "a multiple, up to 8");
  refused(two_modules("parallel: {dp: 3}", "parallel: {dp: 2}"), "dp");
  refused(two_modules("colocated_with: language, turns: each-microbatch, parallel: {dp: 8}",
                      "parallel: {tp: 2, pp: 2, dp: 2}"),
          "turns: whole-batch");
  refused(two_modules("parallel: {dp: 8}", "feeds: vision, parallel: {dp: 8}"), "circle");
  refused(two_modules("frozen: true, parallel: {dp: 8}", "frozen: true, parallel: {dp: 8}"),
          "nothing is trained");
}

TEST_CASE("skip connections cross every boundary between their ends, but not on mirrored stages",
          "[sim]") {
  const auto predicted = [](const std::string& skips, const std::string& schedule) {
    return predict(scenario_of(
        "model: {hidden: 512, layers: 16, heads: 8, vocab: 64, causal: false, skips: " + skips +
        "}\ncluster: {preset: dgx-a100, nodes: 1}\nparallel: {pp: 4, dp: 2}\nschedule: " +
        schedule + "\nbatch: {global: 16, micro: 1, sequence: 512}\n"));
  };
  const double tensor = 2.0 * 512 * 512 * 16;  // of a step, over all replicas
  // 4 layers a stage: 1 + 4, 1 + 8 and 1 + 4 tensors; skips of the middle cross all three.
  const Prediction chain = predicted("true", "1f1b");
  CHECK(sent(chain, Stream::PpDown) == Approx(tensor * (5 + 9 + 5)));
  CHECK(sent(chain, Stream::PpUp) == Approx(tensor * (5 + 9 + 5)));
  CHECK(sent(predicted("false", "1f1b"), Stream::PpDown) == Approx(tensor * 3));
  const std::string wave = "{name: pulse, chunks: 2}";
  CHECK(sent(predicted("true", wave), Stream::PpDown) ==
        Approx(sent(predicted("false", wave), Stream::PpDown)));
  // The projections of 8 layers, their weights and biases.
  const auto parameters = [](const std::string& skips) {
    return models::total_parameters(
        scenario_of("model: {hidden: 512, layers: 16, heads: 8, vocab: 64, skips: " + skips +
                    "}\ncluster: {preset: dgx-a100, nodes: 1}\nbatch: {global: 8, sequence: 64}\n")
            .model);
  };
  CHECK(parameters("true") - parameters("false") == 8 * (2 * 512 * 512 + 512));
}
