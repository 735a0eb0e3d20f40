// SPDX-License-Identifier: Apache-2.0
#include "models/cost/collective.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "models/cost/collective_table.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {

constexpr CollectiveOp kOps[] = {CollectiveOp::AllReduce,     CollectiveOp::AllGather,
                                 CollectiveOp::ReduceScatter, CollectiveOp::AllToAll,
                                 CollectiveOp::Broadcast,     CollectiveOp::SendRecv,
                                 CollectiveOp::Reduce};

struct Machine {
  const char* intra;
  const char* network;
  const char* generation;
  double ports;
  bool sharp = false;
};
constexpr Machine kMachines[] = {
    {"nvlink2", "efa-v1-p3dn", "volta", 1},
    {"nvlink3-nvswitch", "hdr200", "ampere", 8},
    {"nvlink3-nvswitch", "efa-v1", "ampere", 4},
    {"nvlink4-nvswitch", "ndr400", "hopper", 8},
    {"nvlink4-nvswitch", "efa-v2", "hopper", 32},
    {"nvlink4-nvswitch", "tcpx", "hopper", 4},
    {"nvlink5-nvswitch", "ndr400", "blackwell", 8},
    {"pcie4-x16", "ethernet-25", "ada", 1},
    {"xgmi-mi300x", "roce-400", "cdna3", 8},
    {"xgmi-mi250x", "slingshot-200", "cdna2", 4},
    {"pcie3-x16", "omni-path-100", "turing", 1},
    {"nvlink4-nvswitch", "ndr400", "hopper", 8, true},
    {"nvlink3-nvswitch", "hdr200", "ampere", 4, true},
    {"pcie4-x16", "hdr200", "ada", 2, true},
};
struct GroupShape {
  int domains, per_domain;
};
constexpr GroupShape kShapes[] = {{1, 2}, {1, 4}, {1, 5},  {1, 8},   {2, 1},     {2, 8},
                                  {3, 4}, {4, 8}, {64, 1}, {128, 8}, {12500, 8}, {100000, 1}};

/// Owns the links a group points to.
struct GroupCase {
  Link intra, network;
  CollectiveTable table;
  CollectiveGroup group;
  std::string name;

  GroupCase(const Machine& m, const GroupShape& s)
      : intra(read_link(m.intra)), network(read_link(m.network)) {
    network.sharp = m.sharp;
    group.ranks = s.domains * s.per_domain;
    group.domains = s.domains;
    group.per_domain = s.per_domain;
    group.intra = &intra;
    group.network = &network;
    group.ports = m.ports;
    group.sharers = 8.0 / s.per_domain;
    group.generation = m.generation;
    name = std::string(m.intra) + " + " + m.network + " " + std::to_string(s.domains) + "x" +
           std::to_string(s.per_domain);
  }
  GroupCase(const GroupCase&) = delete;
  GroupCase& operator=(const GroupCase&) = delete;

  void use_table() {
    table = read_collective_table(intra, group.generation);
    group.table = &table;
  }
};

double seconds(CollectiveOp op, double bytes, const CollectiveGroup& g, const NcclRelease& r) {
  return collective_time(op, base::Bytes(bytes), g, r).time.value;
}

/// Largest relative fall of the time over growing sizes; infinite when a time is no number.
double worst_fall(CollectiveOp op, const CollectiveGroup& g, const NcclRelease& r) {
  double last = 0, worst = 0;
  for (double bytes = 1; bytes < 2e13; bytes *= 1.19) {
    const double t = seconds(op, bytes, g, r);
    if (!std::isfinite(t) || t <= 0) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, last / t - 1);
    last = t;
  }
  return worst;
}

}  // namespace

TEST_CASE("collective times are finite, positive and never fall with size", "[collective]") {
  const bool tables = GENERATE(false, true);
  for (const Machine& m : kMachines)
    for (const GroupShape& s : kShapes) {
      GroupCase c(m, s);
      if (tables) c.use_table();
      for (const NcclRelease& release : nccl_releases())
        for (const CollectiveOp op : kOps) {
          INFO(c.name << " " << to_text(op) << " " << release.name);
          CHECK(worst_fall(op, c.group, release) <= 1e-12);
        }
    }
}

TEST_CASE("more bandwidth and less latency never make a collective slower", "[collective]") {
  const NcclRelease& release = nccl_release("2.21");
  const double factor = GENERATE(1.01, 1.5, 4.0);
  const int change = GENERATE(0, 1, 2, 3);
  for (const Machine& m : kMachines)
    for (const GroupShape& s : kShapes) {
      GroupCase slow(m, s), fast(m, s);
      if (change == 0) fast.intra.bandwidth *= factor;
      if (change == 1) fast.network.bandwidth *= factor;
      if (change == 2) fast.network.latency *= 1 / factor;
      if (change == 3) fast.group.ports *= factor;
      double worst = 0;
      for (const CollectiveOp op : kOps)
        for (double bytes = 1; bytes < 1e12; bytes *= 7)
          worst = std::max(worst, seconds(op, bytes, fast.group, release) /
                                      seconds(op, bytes, slow.group, release));
      INFO(slow.name << ", change " << change << " by " << factor);
      CHECK(worst <= 1 + 1e-12);
    }
}

TEST_CASE("gathering and scattering never beat the wire", "[collective]") {
  const NcclRelease& release = nccl_release("2.27");
  for (const Machine& m : kMachines)
    for (const GroupShape& s : kShapes) {
      GroupCase c(m, s);
      for (const CollectiveOp op : {CollectiveOp::AllGather, CollectiveOp::ReduceScatter}) {
        const double sent = bytes_sent_per_rank(op, base::Bytes(1e9), c.group.ranks).value;
        const double wire = s.domains == 1
                                ? c.intra.bandwidth.value
                                : c.network.bandwidth.value * c.group.ports / c.group.sharers;
        INFO(c.name << " " << to_text(op));
        CHECK(seconds(op, 1e9, c.group, release) > sent / wire);
      }
    }
}

TEST_CASE("restricting algorithms or protocols never makes an all-reduce faster", "[collective]") {
  const NcclRelease& release = nccl_release("2.21");
  for (const Machine& m : kMachines)
    for (const GroupShape& s : kShapes) {
      GroupCase c(m, s);
      for (double bytes = 8; bytes < 1e11; bytes *= 11) {
        CollectiveGroup g = c.group;
        const double all = seconds(CollectiveOp::AllReduce, bytes, g, release);
        double least = all;
        for (unsigned mask = 0; mask < 16; ++mask) {
          g.algorithms = mask;
          g.protocols = ~0u;
          least = std::min(least, seconds(CollectiveOp::AllReduce, bytes, g, release));
          g.algorithms = kNcclAlgorithms;
          g.protocols = mask;
          least = std::min(least, seconds(CollectiveOp::AllReduce, bytes, g, release));
        }
        INFO(c.name << " " << bytes);
        CHECK(least >= all);
      }
    }
}

TEST_CASE("more sharers of the ports never help", "[collective]") {
  const NcclRelease& release = nccl_release("2.21");
  for (const Machine& m : kMachines) {
    GroupCase c(m, {4, 1});
    for (const CollectiveOp op : kOps)
      for (double bytes = 1; bytes < 1e12; bytes *= 13) {
        CollectiveGroup alone = c.group, shared = c.group;
        alone.sharers = 8;
        shared.sharers = 16;
        CHECK(seconds(op, bytes, alone, release) <= seconds(op, bytes, shared, release));
      }
  }
}
