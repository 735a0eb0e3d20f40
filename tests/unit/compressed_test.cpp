// SPDX-License-Identifier: Apache-2.0
#include "models/compression/compressed.hpp"

#include <catch2/catch.hpp>

#include "models/cost/kernel.hpp"
#include "models/cost/nccl_constants.hpp"
#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {

KernelModel kernels() {
  KernelModel k;
  k.memory = k.stream = 1e12;
  k.matrix.fill({1e12, 0});
  return k;
}

/// Nodes of one device on 400 Gb/s.
CollectiveGroup nodes(int ranks, const Link& network) {
  CollectiveGroup group;
  group.ranks = group.domains = ranks;
  group.network = &network;
  group.ports = 1;
  return group;
}

CompressedTime time_of(CollectiveOp op, std::string_view codec, int ranks) {
  static const Link network = read_link("ndr400");
  CompressionRule rule;
  rule.group = "dp";
  rule.codec = &codec_named(codec, "");
  return compressed_time(op, rule, {1024, 1024, 1, 2}, nodes(ranks, network), nccl_release("2.20"),
                         kernels());
}

}  // namespace

TEST_CASE("bytes of encoded collectives are those of their compositions") {
  const double n = 1024.0 * 1024, fp8 = n + 4;
  using Op = CollectiveOp;
  // Exchanged: all-to-all and all-gather, as much as a ring of the codes.
  CHECK(time_of(Op::AllReduce, "fp8-e4m3", 8).sent.value == Approx(2 * 7.0 / 8 * fp8));
  CHECK(time_of(Op::ReduceScatter, "fp8-e4m3", 8).sent.value == Approx(7.0 / 8 * fp8));
  CHECK(time_of(Op::AllGather, "fp8-e4m3", 8).sent.value == Approx(7.0 / 8 * fp8));
  // Gathered: everyone's codes to everyone.
  const double top_k = 6 * std::round(0.01 * n);
  CHECK(time_of(Op::AllReduce, "top-k", 8).sent.value == Approx(7 * top_k));
  // Added by the collective itself.
  CHECK(time_of(Op::AllReduce, "random-k", 8).sent.value ==
        Approx(2 * 7.0 / 8 * 2 * std::round(0.01 * n)));
}

TEST_CASE("a tenth of the bytes takes less time on the wire, and codecs take some of it back") {
  const CompressedTime plain = time_of(CollectiveOp::AllReduce, "bf16", 16);
  const CompressedTime fp8 = time_of(CollectiveOp::AllReduce, "fp8-e4m3", 16);
  CHECK(plain.encode.value == 0);
  CHECK(fp8.wire < plain.wire);
  CHECK(fp8.encode.value > 0);
  CHECK(fp8.decode > fp8.encode);
}

namespace {

sim::Result predicted(const std::string& more) {
  return sim::predict(tests::small_gpt(more)).result;
}
double sent(const sim::Result& r, sim::Stream stream) {
  return r.traffic_bytes[static_cast<std::size_t>(stream)];
}
std::string refusal(const std::string& more) {
  try {
    tests::small_gpt(more);
  } catch (const base::Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("rules for parts of the layers add up to that for all of them") {
  const std::string layout =
      "cluster: {preset: dgx-a100, nodes: 2}\nparallel: {dp: 16}\nbatch: {global: 16, micro: 1, "
      "sequence: 512}\n";
  const auto last = std::to_string(tests::small_gpt(layout).model.layers.size() - 1);
  const auto with = [&](const std::string& layers) {
    return sent(predicted(layout + "compression: [{group: dp, codec: random-k, keep: 0.01" +
                          layers + "}]\n"),
                sim::Stream::Dp);
  };
  const double plain = sent(predicted(layout), sim::Stream::Dp);
  const double all = with(""), layers = with(", layers: [0, " + last + "]"),
               one = with(", layers: [0, 0]");
  CHECK(all < layers);  // embedding and head are of no layer
  CHECK(layers < one);
  CHECK(one < plain);
  const double halves =
      sent(predicted(layout +
                     "compression: [{group: dp, codec: random-k, keep: 0.01, layers: [0, 0]}, "
                     "{group: dp, codec: random-k, keep: 0.01, layers: [1, " +
                     last + "]}]\n"),
           sim::Stream::Dp);
  CHECK(halves == Approx(layers).epsilon(1e-3));
}

TEST_CASE("what layers exchange inside their groups can be encoded, layer by layer") {
  const std::string layout =
      "cluster: {preset: dgx-a100, nodes: 2}\nparallel: {cp: 2, tp: 8, order: tp-cp-ep-dp-pp}\n"
      "batch: {global: 1, micro: 1, sequence: 2048}\n";
  const sim::Result plain = predicted(layout);
  const sim::Result cp = predicted(layout + "compression: [{group: cp, codec: fp8-e4m3}]\n");
  CHECK(sent(cp, sim::Stream::Cp) == Approx(sent(plain, sim::Stream::Cp) / 2).epsilon(1e-3));
  CHECK(sent(cp, sim::Stream::Tp) == sent(plain, sim::Stream::Tp));
  const sim::Result half =
      predicted(layout + "compression: [{group: cp, codec: fp8-e4m3, layers: [0, 0]}]\n");
  CHECK(sent(half, sim::Stream::Cp) > sent(cp, sim::Stream::Cp));
  CHECK(sent(half, sim::Stream::Cp) < sent(plain, sim::Stream::Cp));
  const sim::Result tp = predicted(layout + "compression: [{group: tp, codec: fp8-e4m3}]\n");
  CHECK(sent(tp, sim::Stream::Tp) < 0.6 * sent(plain, sim::Stream::Tp));
  // Nothing that leaves a node: a rule for such links holds for nothing.
  const sim::Result inside =
      predicted(layout + "compression: [{group: tp, codec: fp8-e4m3, links: inter-node}]\n");
  CHECK(sent(inside, sim::Stream::Tp) == sent(plain, sim::Stream::Tp));
  CHECK(inside.step_time == plain.step_time);
}

TEST_CASE("a run of two phases takes as long as both") {
  const std::string layout =
      "cluster: {preset: dgx-a100, nodes: 2}\nparallel: {dp: 16}\nbatch: {global: 16, micro: 1, "
      "sequence: 512}\nrun: {tokens: 8192000}\n";  // 1000 steps
  const sim::Result plain = predicted(layout);
  const sim::Result coded = predicted(layout + "compression: [{group: dp, codec: sign}]\n");
  const sim::Result both =
      predicted(layout + "compression: [{group: dp, codec: sign, steps: [301]}]\n");
  REQUIRE(both.phases.size() == 2);
  CHECK(both.phases[0].last_step == 300);
  CHECK(both.phases[1].last_step == 1000);
  CHECK(both.step_time == coded.step_time);  // the longer phase
  CHECK(both.run_seconds == Approx(300 * plain.step_time + 700 * coded.step_time));
  CHECK(predicted(layout + "compression: [{group: dp, codec: sign, steps: [1, 5000]}]\n")
            .run_seconds == Approx(1000 * coded.step_time));
}

TEST_CASE("a rule that nothing ever meets is said to be one, with the reason") {
  const std::string layout =
      "cluster: {preset: dgx-a100, nodes: 1}\nparallel: {tp: 2, dp: 4}\nbatch: {global: 16, micro: "
      "1, "
      "sequence: 512}\nrun: {tokens: 8192000}\n";  // 1000 steps
  const auto said = [&](const std::string& rules) {
    std::string all;
    for (const std::string& a : predicted(layout + "compression: [" + rules + "]\n").assumptions)
      if (a.starts_with("compression.")) all += a + "; ";
    return all;
  };
  CHECK(said("{group: dp, codec: sign, steps: [1, 300]}, {group: dp, codec: int8}").empty());
  CHECK(said("{group: dp, codec: sign, links: inter-node}") ==
        "compression.0 never holds: the cluster is one node; ");
  CHECK(said("{group: dp, codec: sign, steps: [1001]}") ==
        "compression.0 never holds: the run ends with step 1000; ");
  CHECK(said("{group: dp, codec: sign}, {group: tp, codec: int8}, {group: dp, codec: int8, layers: "
             "[0, 1]}") ==
        "compression.2 never holds: compression.0 comes first wherever it would hold; ");
}

TEST_CASE("rules that cannot hold are refused with what would") {
  using Catch::Contains;
  CHECK_THAT(refusal("compression: [{group: pd, codec: int8}]\n"), Contains("did you mean"));
  const std::string dp =
      "cluster: {preset: dgx-a100}\nparallel: {dp: 8}\nbatch: {global: 8, "
      "micro: 1, sequence: 512}\ncompression: [{group: ";
  CHECK_THAT(refusal(dp + "cp, codec: int8}]\n"), Contains("groups here: dp"));
  CHECK_THAT(refusal(dp + "dp, codec: int8, layers: [3, 1]}]\n"), Contains("ends before"));
  CHECK_THAT(refusal(dp + "dp, codec: int8, layers: [0, 1000]}]\n"), Contains("layers"));
  CHECK_THAT(refusal(dp + "dp, codec: int8, steps: [0, 5]}]\n"), Contains("steps"));
  CHECK_THAT(refusal(dp + "dp, codec: int8, steps: [1, 5]}]\n"), Contains("run.tokens"));
}

TEST_CASE("gradients encoded to half the bytes shorten a step bound by its network") {
  const auto step = [](const std::string& rule) {
    return sim::predict(tests::small_gpt(
                            "cluster: {preset: dgx-a100, nodes: 2}\nparallel: {dp: "
                            "16}\nbatch: {global: 16, micro: 1, sequence: 512}\ncompression: [" +
                            rule + "]\n"))
        .result;
  };
  const sim::Result plain = step(""), encoded = step("{group: dp, codec: fp8-e4m3}");
  const auto dp = static_cast<std::size_t>(sim::Stream::Dp);
  CHECK(encoded.traffic_bytes[dp] < 0.6 * plain.traffic_bytes[dp]);
}
