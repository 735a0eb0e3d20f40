// SPDX-License-Identifier: Apache-2.0
#include "models/hardware/placement.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

using namespace paceline;
using models::Axis;
using models::Cluster;
using models::GroupLayout;

namespace {

models::Link link(const char* name, double gigabytes, models::LinkKind kind) {
  models::Link l;
  l.name = name;
  l.kind = kind;
  l.bandwidth = base::BytesPerSecond(gigabytes * 1e9);
  return l;
}

models::NodeGroup node_group(int nodes, int devices, std::vector<models::Level> levels, int ports,
                             double port_gigabytes = 50) {
  models::NodeGroup g;
  g.nodes = nodes;
  g.devices_per_node = devices;
  g.levels = std::move(levels);
  g.ports_per_node = ports;
  g.network = link("net", port_gigabytes, models::LinkKind::Infiniband);
  return g;
}

const models::Link kFast = link("fast", 450, models::LinkKind::NvSwitch);
const models::Link kBridge = link("bridge", 56, models::LinkKind::NvLink);
const models::Link kBus = link("bus", 16, models::LinkKind::Pcie);

Cluster cluster_of(std::vector<models::NodeGroup> groups) {
  Cluster c;
  c.groups = std::move(groups);
  c.oversubscription = 2;
  return c;
}

Cluster switched(int nodes) { return cluster_of({node_group(nodes, 8, {{8, kFast}}, 8)}); }
Cluster bridged(int nodes) {
  return cluster_of({node_group(nodes, 8, {{2, kBridge}, {8, kBus}}, 2)});
}
Cluster racks(int nodes) { return cluster_of({node_group(nodes, 4, {{72, kFast}}, 4)}); }

std::vector<int> run(int first, int stride, int count) {
  std::vector<int> all;
  for (int k = 0; k < count; ++k) all.push_back(first + k * stride);
  return all;
}

void check_same(const GroupLayout& a, const GroupLayout& b) {
  CHECK(a.ranks == b.ranks);
  CHECK(a.domains == b.domains);
  CHECK(a.ranks_per_domain == b.ranks_per_domain);
  CHECK(a.nodes == b.nodes);
  CHECK(a.ranks_per_node == b.ranks_per_node);
  CHECK(a.nodes_per_domain == b.nodes_per_domain);
  CHECK(a.common == b.common);
  CHECK(a.intra == b.intra);
  CHECK(a.network == b.network);
  CHECK(a.ports_per_node == b.ports_per_node);
  CHECK(a.devices_per_node == b.devices_per_node);
  CHECK(a.network_share == b.network_share);
  CHECK(a.oversubscription == b.oversubscription);
  REQUIRE(a.step_count == b.step_count);
  for (std::size_t i = 0; i < static_cast<std::size_t>(a.step_count); ++i) {
    CHECK(a.steps[i].link == b.steps[i].link);
    CHECK(a.steps[i].domains == b.steps[i].domains);
    CHECK(a.steps[i].ranks_per_domain == b.steps[i].ranks_per_domain);
  }
}

}  // namespace

TEST_CASE("a tensor-parallel group fills one node and needs no network", "[models]") {
  const Cluster c = switched(4);
  const GroupLayout g = models::layout_of(c, 8, 1, 8);
  CHECK(g.ranks == 8);
  CHECK(g.domains == 1);
  CHECK(g.ranks_per_domain == 8);
  CHECK(g.common == &c.groups[0].levels[0].link);
  CHECK(g.intra == g.common);
  CHECK(g.network == nullptr);
  CHECK_FALSE(g.crosses_network());
  CHECK(g.node_rate().value == 0);
  CHECK(g.oversubscription == 1);
}

TEST_CASE("a data-parallel group with one member a node shares the ports with its siblings",
          "[models]") {
  const Cluster c = switched(4);
  const GroupLayout g = models::layout_of(c, 3, 8, 4);
  CHECK(g.domains == 4);
  CHECK(g.ranks_per_domain == 1);
  CHECK(g.intra == nullptr);
  CHECK(g.common == nullptr);
  CHECK(g.step_count == 0);
  CHECK(g.network == &c.groups[0].network);
  CHECK(g.ports_per_node == 8);
  CHECK(g.devices_per_node == 8);
  CHECK(g.network_share == 8);
  CHECK(g.node_rate().value == Approx(50e9));  // one port's worth
  CHECK(g.oversubscription == 2);
}

TEST_CASE("a group over whole nodes has all ports to itself", "[models]") {
  const Cluster c = switched(4);
  const GroupLayout g = models::layout_of(c, 0, 1, 32);
  CHECK(g.domains == 4);
  CHECK(g.ranks_per_domain == 8);
  CHECK(g.network_share == 1);
  CHECK(g.node_rate().value == Approx(400e9));
  CHECK(g.intra->name == "fast");
}

TEST_CASE("a single rank uses no link", "[models]") {
  const Cluster c = switched(2);
  const GroupLayout g = models::layout_of(c, 5, 1, 1);
  CHECK(g.ranks == 1);
  CHECK(g.domains == 1);
  CHECK(g.common == nullptr);
  CHECK(g.intra == nullptr);
  CHECK(g.network == nullptr);
}

TEST_CASE("bridged pairs: the slowest link on the way rules", "[models]") {
  const Cluster c = bridged(2);
  const GroupLayout pair = models::layout_of(c, 2, 1, 2);
  CHECK(pair.common->name == "bridge");
  CHECK(pair.intra->name == "bridge");
  CHECK(models::layout_of_pair(c, 3, 2).common->name == "bridge");
  CHECK(models::layout_of_pair(c, 1, 2).common->name == "bus");  // neighbours of two pairs

  const GroupLayout four = models::layout_of(c, 0, 1, 4);
  CHECK(four.common->name == "bus");
  CHECK(four.intra->name == "bus");
  REQUIRE(four.step_count == 2);
  CHECK(four.steps[0].link->name == "bridge");
  CHECK(four.steps[0].domains == 2);
  CHECK(four.steps[0].ranks_per_domain == 2);
  CHECK(four.steps[1].link->name == "bus");
  CHECK(four.steps[1].domains == 1);
  CHECK(four.steps[1].ranks_per_domain == 4);

  const GroupLayout every_other =
      models::layout_of(c, 0, 2, 4);  // one of each pair: no bridge used
  REQUIRE(every_other.step_count == 1);
  CHECK(every_other.steps[0].link->name == "bus");

  const GroupLayout across = models::layout_of_pair(c, 0, 8);
  CHECK(across.common == nullptr);
  CHECK(across.network->name == "net");
}

TEST_CASE("an NVLink domain over many nodes is one domain", "[models]") {
  const Cluster c = racks(36);  // two racks
  const GroupLayout inside = models::layout_of(c, 0, 1, 72);
  CHECK(inside.domains == 1);
  CHECK(inside.nodes == 18);
  CHECK(inside.common->name == "fast");
  CHECK(inside.network == nullptr);

  const GroupLayout both = models::layout_of(c, 0, 1, 144);
  CHECK(both.domains == 2);
  CHECK(both.nodes == 36);
  CHECK(both.nodes_per_domain == 18);
  CHECK(both.ports_per_domain() == 72);
  CHECK(both.network_share == 1);
  CHECK(both.intra->name == "fast");

  const GroupLayout strided = models::layout_of(c, 1, 8, 18);  // every second node of both racks
  CHECK(strided.domains == 2);
  CHECK(strided.nodes == 18);
  CHECK(strided.nodes_per_domain == 9);
  CHECK(strided.network_share == 4);
}

TEST_CASE("nodes of two kinds: the slower network and the slower links rule", "[models]") {
  const Cluster c = cluster_of({node_group(2, 8, {{8, kFast}}, 8, 50),
                                node_group(2, 4, {{2, kBridge}, {4, kBus}}, 1, 12.5)});
  CHECK(c.devices() == 24);
  const GroupLayout g = models::layout_of(c, 0, 1, 24);
  CHECK(g.domains == 4);
  CHECK(g.nodes == 4);
  CHECK(g.ranks_per_domain == 8);
  CHECK(g.intra->name == "bus");
  CHECK(g.network == &c.groups[1].network);
  CHECK(g.ports_per_node == 1);
  CHECK(g.devices_per_node == 4);
  const Cluster slow_first = cluster_of({c.groups[1], c.groups[0]});
  const GroupLayout turned = models::layout_of(slow_first, 0, 1, 24);
  CHECK(turned.network == &slow_first.groups[0].network);
  CHECK(turned.ports_per_node == 1);
  CHECK(turned.intra->name == "bus");
  const GroupLayout fast = models::layout_of(c, 0, 8, 2);
  CHECK(fast.network == &c.groups[0].network);
  const std::vector<int> mixed{23, 0, 15, 16};
  check_same(models::layout_of(c, std::span<const int>(mixed)),
             models::layout_of(c, std::span<const int>(std::vector<int>{0, 15, 16, 23})));
}

TEST_CASE("a strided group equals the same group listed", "[models]") {
  std::vector<Cluster> clusters{switched(9), bridged(9), racks(40)};
  clusters.push_back(cluster_of({node_group(3, 8, {{2, kBridge}, {8, kBus}}, 2),
                                 node_group(5, 6, {{3, kFast}, {6, kBus}}, 1),
                                 node_group(10, 4, {{12, kFast}}, 4)}));
  clusters.push_back(cluster_of({node_group(100, 1, {}, 1)}));
  std::mt19937 random(7);
  for (const Cluster& c : clusters) {
    const int devices = c.devices();
    for (int trial = 0; trial < 400; ++trial) {
      const int first = static_cast<int>(random() % static_cast<unsigned>(devices));
      const int stride = 1 + static_cast<int>(random() % (trial % 2 ? 12u : 40u));
      const int most = (devices - 1 - first) / stride + 1;
      const int count = 1 + static_cast<int>(random() % static_cast<unsigned>(most));
      INFO(devices << ": " << first << " + k * " << stride << ", " << count);
      check_same(models::layout_of(c, first, stride, count),
                 models::layout_of(c, std::span<const int>(run(first, stride, count))));
    }
  }
}

TEST_CASE("a group of several axes equals the same group listed", "[models]") {
  const std::vector<Cluster> clusters{switched(32), bridged(32), racks(64)};
  const std::vector<std::vector<Axis>> cases{
      {{1, 8}, {8, 4}},           // merges into one run
      {{2, 4}, {32, 3}},          // copies in domains of their own on 8-device nodes
      {{1, 4}, {8, 2}, {64, 3}},  // twice so
      {{1, 2}, {4, 2}, {16, 4}},  // inside one node, must be listed
      {{3, 2}, {12, 5}},          // crosses domains
      {{16, 1}, {5, 1}},          // one rank
      {{72, 2}, {1, 4}}};         // outer axis first
  for (const Cluster& c : clusters)
    for (const auto& axes : cases)
      for (const int first : {0, 1, 6}) {
        std::vector<int> listed{first};
        for (const Axis& axis : axes) {
          const std::vector<int> before = listed;
          for (int i = 1; i < axis.count; ++i)
            for (const int d : before) listed.push_back(d + static_cast<int>(axis.stride) * i);
        }
        INFO(first << " on " << c.groups[0].levels.back().size << " axes " << axes.size());
        check_same(models::layout_of(c, first, axes),
                   models::layout_of(c, std::span<const int>(listed)));
      }
}

TEST_CASE("a group of 100,000 ranks costs no more than one of eight", "[models]") {
  const Cluster c = switched(100'000);
  const std::vector<Axis> axes{{1, 2}, {8, 100'000}};
  int domains = 0, ranks = 0;
  // Listing the ranks of that many layouts would take minutes.
  for (int i = 0; i < 1000; ++i) {
    domains = models::layout_of(c, 5, 8, 100'000).domains;
    ranks = models::layout_of(c, 4, axes).ranks;
  }
  CHECK(domains == 100'000);
  CHECK(ranks == 200'000);
}
