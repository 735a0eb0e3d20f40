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
