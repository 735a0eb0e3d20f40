// SPDX-License-Identifier: Apache-2.0
#include "models/cost/collective.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <vector>

#include "base/error.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {

Link nvlink4() {
  Link l;
  l.name = "nvlink4";
  l.kind = LinkKind::NvSwitch;
  l.bandwidth = base::BytesPerSecond(450e9);
  l.lanes = 18;
  l.efficiency = 0.816;
  l.multicast = true;
  l.multicast_efficiency = 0.69;
  return l;
}

Link infiniband(double gbps) {
  Link l;
  l.name = "ib";
  l.kind = LinkKind::Infiniband;
  l.bandwidth = base::BytesPerSecond(gbps * 1e9 / 8);
  l.efficiency = 0.97;
  l.latency = base::Seconds(5e-6);
  return l;
}

CollectiveGroup group(int domains, int per_domain, const Link& intra, const Link& network) {
  CollectiveGroup g;
  g.ranks = domains * per_domain;
  g.domains = domains;
  g.per_domain = per_domain;
  g.intra = per_domain > 1 ? &intra : nullptr;
  g.network = domains > 1 ? &network : nullptr;
  g.sharers = 8.0 / per_domain;
  g.host = "intel";
  g.generation = "hopper";
  return g;
}

const std::vector<CollectiveOp> kOps{CollectiveOp::AllReduce,     CollectiveOp::AllGather,
                                     CollectiveOp::ReduceScatter, CollectiveOp::AllToAll,
                                     CollectiveOp::Broadcast,     CollectiveOp::SendRecv};

double seconds(CollectiveOp op, double bytes, const CollectiveGroup& g,
               const char* release = "2.21") {
  return collective_time(op, base::Bytes(bytes), g, nccl_release(release)).time.value;
}

}  // namespace

TEST_CASE("one rank and no bytes cost no time", "[models][collective]") {
  const Link nv = nvlink4(), ib = infiniband(400);
  for (const CollectiveOp op : kOps) {
    CHECK(seconds(op, 1e9, group(1, 1, nv, ib)) == 0);
    CHECK(seconds(op, 0, group(2, 8, nv, ib)) == 0);
  }
}

TEST_CASE("bytes sent per rank follow the closed forms", "[models][collective]") {
  const base::Bytes s(1000);
  CHECK(bytes_sent_per_rank(CollectiveOp::AllReduce, s, 4).value == Approx(1500));
  CHECK(bytes_sent_per_rank(CollectiveOp::AllGather, s, 4).value == Approx(750));
  CHECK(bytes_sent_per_rank(CollectiveOp::ReduceScatter, s, 8).value == Approx(875));
  CHECK(bytes_sent_per_rank(CollectiveOp::AllToAll, s, 2).value == Approx(500));
  CHECK(bytes_sent_per_rank(CollectiveOp::SendRecv, s, 2).value == Approx(1000));
  for (const CollectiveOp op : kOps) CHECK(bytes_sent_per_rank(op, s, 1).value == 0);
}

TEST_CASE("a large all-reduce on 8 H100 runs at the published bus bandwidth",
          "[models][collective]") {
  const Link nv = nvlink4(), ib = infiniband(400);
  // NVIDIA dgxc-benchmarking, nccl/README.md: 16 GiB in 62.648 ms.
  const CollectiveChoice c = collective_time(CollectiveOp::AllReduce, base::Bytes(17179869184.0),
                                             group(1, 8, nv, ib), nccl_release("2.21"));
  CHECK(c.time.value == Approx(62.648e-3).epsilon(0.02));
  CHECK(c.algorithm == CollectiveAlgorithm::Nvls);
  CHECK(seconds(CollectiveOp::AllReduce, 17179869184.0, group(1, 8, nv, ib), "2.12") >
        1.2 * c.time.value);
}
