// SPDX-License-Identifier: Apache-2.0
#include "models/cost/nccl_constants.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "models/cost/nccl_tuner.hpp"
#include "models/cost/white_box.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {

constexpr double kMiB = 1024 * 1024;

NcclChannels channels(const char* generation, int links, int ports = 0, double gbps = 0) {
  return nccl_channels(nccl_generation(generation), links, ports,
                       base::BytesPerSecond(gbps * 1e9 / 8));
}

CollectiveGroup group(int nodes, const Link& nvlink, const Link& network, const char* generation) {
  CollectiveGroup g;
  g.ranks = 8 * nodes;
  g.domains = nodes;
  g.per_domain = 8;
  g.intra = &nvlink;
  g.network = nodes > 1 ? &network : nullptr;
  g.host = "intel";
  g.generation = generation;
  return g;
}

}  // namespace

TEST_CASE("releases are found by entry and by full version", "[models][nccl]") {
  CHECK(nccl_release("2.7").name == "2.7");
  CHECK(nccl_release("2.8.3").name == "2.7");
  CHECK(nccl_release("2.17").name == "2.12");
  CHECK(nccl_release("2.19.3").name == "2.18");
  CHECK(nccl_release("2.23.4+cuda12.6").name == "2.21");
  CHECK(nccl_release("2.30.7").name == "2.27");
  for (const NcclRelease& r : nccl_releases()) CHECK(nccl_release(r.name).name == r.name);
}

TEST_CASE("an unknown release lists those that are known", "[models][nccl]") {
  for (const char* bad : {"", "2", "2.", "2.x", "2.3", "3.1", "2.99", "2.18x", "rccl", "2.-8"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(nccl_release(bad), base::Error);
  }
  CHECK_THROWS_WITH(nccl_release("2.3"), Catch::Contains("2.7, 2.12, 2.18, 2.21, 2.27"));
}

TEST_CASE("the channel search finds the channels NCCL reports", "[models][nccl]") {
  // Debug output and sources of NCCL 2.18 and later: 8 GPUs of a node, then per node over the
  // network.
  CHECK(channels("ampere", 12).bus() == Approx(240));
  CHECK(channels("ampere", 12).graph == 12);
  CHECK(channels("ampere", 12).launched == 24);
  CHECK(channels("hopper", 18).bus() == Approx(360));
  CHECK(channels("hopper", 18).launched == 24);
  CHECK(channels("blackwell", 18).bus() == Approx(720));
  CHECK(channels("blackwell", 18).launched == 32);
  CHECK(channels("hopper", 18, 8, 400).graph == 8);
  CHECK(channels("hopper", 18, 8, 400).rate == Approx(45));
  CHECK(channels("hopper", 18, 8, 400).launched == 16);
  CHECK(channels("hopper", 18, 8, 200).graph == 8);
  CHECK(channels("hopper", 18, 8, 200).rate == Approx(24));
}

TEST_CASE("NVLS chunks step at 64 queues of the largest chunk", "[models][nccl]") {
  const double hopper = 16 * 8, aws_b200 = 32 * 8;
  const auto step = [](double at, double queue, double most) {
    return nvls_chunk(at - 1, queue, most) == 64 * 1024 && nvls_chunk(at, queue, most) == most;
  };
  CHECK(step(1024 * kMiB, hopper, kNvlsChunkMax));
  CHECK(step(4096 * kMiB, hopper, kNvlsChunkMaxEfa));
  CHECK(step(8192 * kMiB, aws_b200, kNvlsChunkMaxEfa));
  CHECK(nvls_chunk(8 * kMiB - 1, hopper, kNvlsChunkMax) == 16 * 1024);
  CHECK(nvls_chunk(8 * kMiB, hopper, kNvlsChunkMax) == 32 * 1024);
  CHECK(nvls_chunk(64 * kMiB, hopper, kNvlsChunkMax) == 64 * 1024);
  CHECK(nvls_tree_chunk(1e12, hopper, kNvlsChunkMax, 2) == 128 * 1024);
  CHECK(nvls_tree_chunk(1e12, hopper, kNvlsChunkMax, 4) == 64 * 1024);
  CHECK(nvls_tree_chunk(1, hopper, kNvlsChunkMaxEfa, 2) == 32 * 1024);
}

TEST_CASE("the tree correction runs through NCCL's values", "[models][nccl]") {
  CHECK(tree_correction(CollectiveProtocol::Simple, 1) == Approx(0.9));
  CHECK(tree_correction(CollectiveProtocol::Simple, kMiB) == Approx(0.5));
  CHECK(tree_correction(CollectiveProtocol::LL, 64 * 4096) == Approx(0.4));
  CHECK(tree_correction(CollectiveProtocol::LL128, 1e15) == Approx(1));
}

TEST_CASE("NCCL's own latencies come out of its formulas", "[models][nccl]") {
  Link nvlink, ib;
  nvlink.kind = LinkKind::NvSwitch;
  nvlink.bandwidth = base::BytesPerSecond(300e9);
  nvlink.lanes = 12;
  ib.bandwidth = base::BytesPerSecond(25e9);
  const auto us = [&](int nodes, CollectiveAlgorithm a) {
    const CollectiveGroup g = group(nodes, nvlink, ib, "ampere");
    return nccl_estimate(CollectiveOp::AllReduce, a, CollectiveProtocol::LL, base::Bytes(8), g,
                         nccl_release("2.21"))
               .value *
           1e6;
  };
  CHECK(us(1, CollectiveAlgorithm::Ring) == Approx(15.0).epsilon(0.002));
  CHECK(us(32, CollectiveAlgorithm::Tree) == Approx(65.2).epsilon(0.002));
  CHECK(us(32, CollectiveAlgorithm::Ring) > 500);
  const CollectiveGroup g = group(32, nvlink, ib, "ampere");
  CHECK(nccl_choice(CollectiveOp::AllReduce, base::Bytes(8), g, nccl_release("2.21")).algorithm ==
        CollectiveAlgorithm::Tree);
  CHECK(nccl_choice(CollectiveOp::AllGather, base::Bytes(1e9), g, nccl_release("2.21")).algorithm ==
        CollectiveAlgorithm::Ring);
}

TEST_CASE("NCCL picks NVLS for a large all-reduce where release and switch have it",
          "[models][nccl]") {
  Link nvlink, ib;
  nvlink.kind = LinkKind::NvSwitch;
  nvlink.bandwidth = base::BytesPerSecond(450e9);
  nvlink.lanes = 18;
  nvlink.multicast = true;
  ib.bandwidth = base::BytesPerSecond(50e9);
  const auto choice = [&](int nodes, const char* release) {
    return nccl_choice(CollectiveOp::AllReduce, base::Bytes(1e9),
                       group(nodes, nvlink, ib, "hopper"), nccl_release(release))
        .algorithm;
  };
  CHECK(choice(1, "2.21") == CollectiveAlgorithm::Nvls);
  CHECK(choice(4, "2.21") == CollectiveAlgorithm::NvlsTree);
  CHECK(choice(1, "2.12") == CollectiveAlgorithm::Ring);
}
