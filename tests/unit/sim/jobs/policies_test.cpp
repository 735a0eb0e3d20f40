// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "sim/jobs/policy.hpp"
#include "tests/unit/sim/jobs/jobs_helper.hpp"

using namespace paceline;
using namespace paceline::sim::jobs;

namespace {

const std::vector<int> kUpTo100 = [] {
  std::vector<int> all;
  for (int k = 1; k <= 100; ++k) all.push_back(k);
  return all;
}();

/// Three regions: 8 dear, 16 cheap, 4 between; links of 1, 10 and 100 bytes/s.
RegionGraph three_regions() {
  RegionGraph graph;
  boost::add_vertex({0, 8, 8, 3}, graph);
  boost::add_vertex({1, 16, 16, 1}, graph);
  boost::add_vertex({2, 4, 4, 2}, graph);
  boost::add_edge(0, 1, {1, 1, 0}, graph);
  boost::add_edge(1, 2, {10, 10, 0}, graph);
  boost::add_edge(0, 2, {100, 100, 0}, graph);
  return graph;
}

/// A job that takes up to 100 stages and sends `demand` bytes/s over every link.
PlacementRequest request(double demand) {
  PlacementRequest r;
  r.sizes = &kUpTo100;
  r.activation = demand;
  r.stage_seconds = [](int) { return 1.0; };
  return r;
}

JobPath place(const char* policy, const RegionGraph& graph, const PlacementRequest& request) {
  return job_policy(policy).place(graph, request);
}

}  // namespace

TEST_CASE("baselines take the cheapest or largest region, or go over regions", "[jobs]") {
  const RegionGraph graph = three_regions();
  CHECK(place("lcf", graph, request(0)) == JobPath{{1, 16}});
  CHECK(place("ldf", graph, request(0)) == JobPath{{1, 16}});
  CHECK(place("cr-lcf", graph, request(0)) == JobPath{{1, 16}, {2, 4}, {0, 8}});
  CHECK(place("cr-ldf", graph, request(0)) == JobPath{{1, 16}, {2, 4}, {0, 8}});
  RegionGraph busy = graph;
  busy[1].free = 2;
  CHECK(place("lcf", busy, request(0)) == JobPath{{1, 2}});
  CHECK(place("ldf", busy, request(0)) == JobPath{{0, 8}});
  PlacementRequest waits = request(0);
  waits.wait_for_full = true;
  CHECK(place("lcf", busy, waits) == JobPath{{2, 4}});
  CHECK(place("fcfs", busy, request(0)).empty());
  CHECK(place("fcfs", graph, request(0)) == JobPath{{1, 16}});
}

TEST_CASE("BACE-Pipe's path leaves out links that would stall it", "[jobs]") {
  const RegionGraph graph = three_regions();
  // With nothing to send the whole graph is a path, over the widest links.
  CHECK(place("bace-pipe", graph, request(0.5)) == JobPath{{0, 8}, {2, 4}, {1, 16}});
  // 5 bytes/s do not go over the link of 1. 50 go over that of 100 alone, to 12 devices.
  CHECK(place("bace-pipe", graph, request(5)) == JobPath{{0, 8}, {2, 4}, {1, 16}});
  CHECK(place("bace-pipe", graph, request(50)) == JobPath{{1, 16}});
  CHECK(place("bace-pipe", graph, request(500)) == JobPath{{1, 16}});
  // What others have reserved counts.
  RegionGraph reserved = graph;
  reserved[boost::edge(1, 2, reserved).first].free = 4;
  CHECK(place("bace-pipe", reserved, request(5)) == JobPath{{1, 16}});
}

TEST_CASE("BACE-Pipe keeps one stage in each region of its path and buys the cheapest", "[jobs]") {
  const RegionGraph graph = three_regions();
  PlacementRequest small = request(0.5);
  const std::vector<int> most_26 = [] {
    std::vector<int> all;
    for (int k = 1; k <= 26; ++k) all.push_back(k);
    return all;
  }();
  small.sizes = &most_26;
  CHECK(place("bace-pipe", graph, small) == JobPath{{0, 6}, {2, 4}, {1, 16}});
  CHECK(place("bace-no-pathfinder", graph, small) == JobPath{{1, 16}});
  const std::vector<int> ten{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  small.sizes = &ten;
  CHECK(place("bace-pipe", graph, small) == JobPath{{1, 10}});
}

TEST_CASE("BACE-Pipe's priority weighs work, and under congestion demand", "[jobs]") {
  const JobPolicy policy = job_policy("bace-pipe");
  const std::vector<QueuedJob> queue{{0, 0, 100, 1, 1}, {1, 0, 25, 1, 4}};
  const std::vector<double> calm = policy.priority(queue, 0);
  CHECK(calm == std::vector<double>{0, 0.75});
  const std::vector<double> full = policy.priority(queue, 1);
  CHECK(full == std::vector<double>{0.75, 0});
  CHECK_FALSE(job_policy("bace-no-priority").priority);
}

TEST_CASE("every policy has a name of its own and can be made", "[jobs]") {
  CHECK(job_policies().size() == 10);
  for (const JobPolicyEntry& entry : job_policies()) CHECK(entry.make().place);
  CHECK_THROWS_WITH(job_policy("bace-pip"), Catch::Contains("bace-pipe"));
}
