// SPDX-License-Identifier: Apache-2.0
#include "models/cost/collnet.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "models/cost/nccl_tuner.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {

using A = CollectiveAlgorithm;

/// Nodes of 8 H100 with 8 ports of NDR InfiniBand.
struct Machine {
  Link nvlink = read_link("nvlink4-nvswitch"), network = read_link("ndr400");
  CollectiveGroup group;

  explicit Machine(int nodes, int per_node = 8) {
    network.sharp = true;
    group.ranks = nodes * per_node;
    group.domains = nodes;
    group.per_domain = per_node;
    group.intra = per_node > 1 ? &nvlink : nullptr;
    group.network = &network;
    group.sharers = 8.0 / per_node;
    group.generation = "hopper";
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  CollectiveChoice time(CollectiveOp op, double bytes, A only, const char* release = "2.21") const {
    CollectiveGroup g = group;
    g.algorithms = 1u << static_cast<unsigned>(only);
    return white_box_time(op, base::Bytes(bytes), g, nccl_release(release));
  }
  CollectiveChoice best(CollectiveOp op, double bytes, const char* release = "2.21") const {
    return white_box_time(op, base::Bytes(bytes), group, nccl_release(release));
  }
  double estimate_us(CollectiveOp op, A a, double bytes) const {
    return nccl_estimate(op, a, CollectiveProtocol::Simple, base::Bytes(bytes), group,
                         nccl_release("2.21"))
               .value *
           1e6;
  }
};

}  // namespace

TEST_CASE("CollNet latencies are NCCL's", "[models][collnet]") {
  CHECK(collnet_latency_us(A::CollNetDirect, 8) == Approx(2 * (3.7 + 7 * 0.4) + 31));
  CHECK(collnet_latency_us(A::CollNetChain, 8) == Approx(2 * 7 * 2.8 + 30));
  CHECK(collnet_latency_us(A::CollNetDirect, 1) == Approx(31));
  CHECK(collnet_latency_us(A::CollNetChain, 1) == Approx(30));
}

TEST_CASE("an all-reduce over reducing switches takes latency and bytes over rate, by hand",
          "[models][collnet]") {
  const Machine m(8);
  // NVLink carries 2 x 7/8 of the array at 0.816 x 450 GB/s; the ports would do 0.8 x 400 GB/s.
  const double inside = 1e9 * 1.75 / (0.816 * 450e9);
  CHECK(m.time(CollectiveOp::AllReduce, 1e9, A::CollNetDirect).time.value ==
        Approx(44e-6 + inside));
  CHECK(m.time(CollectiveOp::AllReduce, 1e9, A::CollNetChain).time.value ==
        Approx(69.2e-6 + inside));
  CHECK(m.time(CollectiveOp::AllReduce, 1e9, A::CollNetDirect).latency.value == Approx(44e-6));
  // However many nodes there are.
  const Machine more(64);
  CHECK(more.time(CollectiveOp::AllReduce, 1e9, A::CollNetDirect).time.value ==
        Approx(44e-6 + inside));

  // One rank a node: its own port decides.
  const Machine single(8, 1);
  CHECK(single.time(CollectiveOp::AllReduce, 1e9, A::CollNetChain).time.value ==
        Approx(30e-6 + 1e9 / (0.8 * 50e9)));
  CHECK(single.time(CollectiveOp::ReduceScatter, 1e9, A::CollNetDirect).time.value ==
        Approx(31e-6 + 1e9 / (0.8 * 50e9)));

  // Half as many ports as GPUs: the 4 heads send 3/4 to each other and 7/4 back.
  Machine shared(8);
  shared.group.ports = 4;
  CHECK(shared.time(CollectiveOp::AllReduce, 1e9, A::CollNetDirect).time.value ==
        Approx(44e-6 + 1e9 / std::min(0.8 * 200e9, 0.816 * 450e9 / 2.5)));
}

TEST_CASE("NVLS over several nodes is bound by NVSwitch or by the ports", "[models][collnet]") {
  Machine m(8);
  const double size = 16e9;
  const CollectiveChoice c = m.time(CollectiveOp::AllReduce, size, A::Nvls);
  CHECK(c.algorithm == A::Nvls);
  CHECK(c.latency.value == Approx((17 + 18) * 1e-6));
  // 0.69 x 450 GB/s over 1 + 1/8, and 3.2 fills of 128 queues of 128 KiB.
  const double rate = 0.69 * 450e9 / 1.125;
  CHECK(c.time.value == Approx(35e-6 + (size + 3.2 * 128 * 128 * 1024) / rate));
  m.group.ports = 2;
  CHECK(m.time(CollectiveOp::AllReduce, size, A::Nvls).time.value ==
        Approx(35e-6 + (size + 3.2 * 128 * 128 * 1024) / 80e9));
}

TEST_CASE("reducing switches change the choice, by size, and only where they are",
          "[models][collnet]") {
  Machine m(16);
  CHECK(m.best(CollectiveOp::AllReduce, 1e9).algorithm == A::Nvls);
  CHECK(m.best(CollectiveOp::AllReduce, 64e3).algorithm == A::Nvls);
  const double with = m.best(CollectiveOp::AllReduce, 1e9).time.value;
  m.network.sharp = false;
  CHECK(m.best(CollectiveOp::AllReduce, 1e9).algorithm == A::NvlsTree);
  CHECK(m.best(CollectiveOp::AllReduce, 1e9).time.value > with);
  CHECK(m.time(CollectiveOp::AllReduce, 1e9, A::CollNetDirect).algorithm == A::Ring);

  // A100 has no NVLS. On 4 nodes a tree of LL messages starts sooner: 43 us against 44.
  Machine a100(4);
  a100.nvlink = read_link("nvlink3-nvswitch");
  a100.group.generation = "ampere";
  CHECK(a100.best(CollectiveOp::AllReduce, 8).algorithm == A::Tree);
  CHECK(a100.best(CollectiveOp::AllReduce, 1e9).algorithm == A::CollNetDirect);

  const Machine single(16, 1);
  // A ring sends 2 x 15/16 of the array, where the port of a tree of switches sends one.
  CHECK(reduces_in_network(single.best(CollectiveOp::AllReduce, 1e9).algorithm, 16));
  // A gather receives as much over a ring, which gets more of the port.
  CHECK(single.best(CollectiveOp::AllGather, 1e9).algorithm == A::Ring);
  CHECK(single.best(CollectiveOp::AllGather, 1e4).algorithm == A::CollNetDirect);
}

TEST_CASE("what can run over reducing switches", "[models][collnet]") {
  Machine m(4);
  const auto runs = [&](CollectiveOp op, A a, const char* release = "2.21") {
    return collnet_runs(op, a, m.group, nccl_release(release));
  };
  for (const A a : {A::CollNetDirect, A::CollNetChain, A::Nvls}) {
    CHECK(runs(CollectiveOp::AllReduce, a));
    CHECK(runs(CollectiveOp::AllReduce, a, "2.18"));
    CHECK_FALSE(runs(CollectiveOp::AllReduce, a, "2.12"));
    CHECK_FALSE(runs(CollectiveOp::Broadcast, a));
    CHECK(runs(CollectiveOp::AllGather, a) == (a == A::CollNetDirect));
    CHECK_FALSE(runs(CollectiveOp::ReduceScatter, a, "2.18"));
  }
  CHECK_FALSE(runs(CollectiveOp::AllReduce, A::NvlsTree));
  m.group.ports = 4;  // two GPUs to a port
  CHECK(runs(CollectiveOp::AllReduce, A::CollNetDirect));
  CHECK_FALSE(runs(CollectiveOp::AllGather, A::CollNetDirect));
  m.nvlink.kind = LinkKind::Pcie;
  CHECK_FALSE(runs(CollectiveOp::AllReduce, A::CollNetDirect));
  CHECK(runs(CollectiveOp::AllReduce, A::CollNetChain));
  m.group.domains = 1;
  CHECK_FALSE(runs(CollectiveOp::AllReduce, A::CollNetChain));
}

TEST_CASE("NCCL's table knows the reducing switches", "[models][collnet]") {
  Machine m(8);
  // 8 channels of 45 GB/s; Direct loses 15 % on Hopper, NVLS counts ring steps.
  CHECK(m.estimate_us(CollectiveOp::AllReduce, A::CollNetChain, 1e9) == Approx(69.2 + 1e9 / 180e3));
  CHECK(m.estimate_us(CollectiveOp::AllReduce, A::CollNetDirect, 1e9) == Approx(44 + 1e9 / 153e3));
  CHECK(m.estimate_us(CollectiveOp::AllReduce, A::Nvls, 1e9) ==
        Approx(25 + 18 + 1e9 * 2 * 63 / 64 / 360e3));
  CHECK(m.estimate_us(CollectiveOp::AllGather, A::CollNetDirect, 1e9) == Approx(44 + 1e9 / 324e3));
  const auto choice = [&](double bytes) {
    return nccl_choice(CollectiveOp::AllReduce, base::Bytes(bytes), m.group, nccl_release("2.21"))
        .algorithm;
  };
  CHECK(choice(4e9) == A::Nvls);
  m.group.tuner = true;
  CHECK(m.best(CollectiveOp::AllReduce, 4e9).algorithm == A::Nvls);
  m.network.sharp = false;
  CHECK(choice(4e9) == A::NvlsTree);
  CHECK(std::isinf(m.estimate_us(CollectiveOp::AllReduce, A::CollNetChain, 1e9)));
  CHECK(std::isinf(m.estimate_us(CollectiveOp::AllReduce, A::Nvls, 1e9)));
}

TEST_CASE("half the ports: CollNetDirect loses half as much in NCCL's table", "[models][collnet]") {
  Machine m(8);
  m.group.ports = 4;
  // 4 ports of 400 Gb/s: 4 channels of 48; 8 GPUs to 4 ports count 1.5.
  const double bus = nccl_channels(nccl_generation("hopper"), 18, 4, m.network.bandwidth).bus();
  CHECK(m.estimate_us(CollectiveOp::AllReduce, A::CollNetDirect, 1e9) ==
        Approx(44 + 1e6 / (0.5 * bus / 1.5 * 0.85)));
}

TEST_CASE("a tree of switches uses the uplink once for all nodes below", "[models][collnet]") {
  Machine m(8, 1);
  m.group.sharers = 8 * 4;  // an uplink four times too narrow
  const double crowded = m.time(CollectiveOp::AllReduce, 1e9, A::CollNetChain).time.value;
  m.group.tree_sharers = 8;
  CHECK(m.time(CollectiveOp::AllReduce, 1e9, A::CollNetChain).time.value ==
        Approx(30e-6 + 1e9 / 40e9));
  CHECK(crowded == Approx(30e-6 + 4 * 1e9 / 40e9));
}
