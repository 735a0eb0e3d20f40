// SPDX-License-Identifier: Apache-2.0
#include "sim/measure_network.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "base/json.hpp"
#include "reports/network.hpp"

using namespace paceline;

namespace {

/// Two transfers of 10 bytes over one link of 10 B/s, each for 2 s at once instead of 1 s, and a
/// third alone on another link.
struct Example {
  sim::TaskGraph graph;
  sim::Timeline timeline;
  Example() {
    graph.lanes.resize(3);
    graph.network.links = {{"shared", 10, {}, 4}, {"free", 10, {}, 1}};
    graph.network.transfers = {{0, 10, 10, {{0, 1}}}, {0, 10, 10, {{1, 1}}}};
    graph.network.transfer_of = {0, 0, 1};
    for (std::uint32_t lane = 0; lane < 3; ++lane) {
      sim::Task task;
      task.seconds = 1;
      task.lane = lane;
      task.stream = sim::Stream::Dp;
      graph.add(task);
    }
    timeline = {{0, 0, 0}, {2, 2, 1}, 4};
  }
};

}  // namespace

TEST_CASE("links that slowed transfers are named with their use and delay", "[network]") {
  const Example example;
  const sim::NetworkResult result = sim::measure_network(example.graph, example.timeline, 3);
  CHECK(result.alone_time == 3);
  CHECK(result.transfers == 3);
  CHECK(result.slowed == 2);
  REQUIRE(result.links.size() == 1);
  const sim::SharedLink& link = result.links.front();
  CHECK(link.name == "shared");
  CHECK(link.alike == 4);
  CHECK(link.bytes == 20);
  CHECK(link.busy == 2);
  CHECK(link.delay == 2);
  CHECK(link.utilisation.front() == Approx(1));  // full for the first half of the step
  CHECK(link.utilisation.back() == 0);
  const double width = example.timeline.makespan / sim::SharedLink::kBins;
  const double moved =
      std::accumulate(link.utilisation.begin(), link.utilisation.end(), 0.0) * width;
  CHECK(moved * link.bandwidth == Approx(link.bytes));
}

TEST_CASE("shared links print in few lines and survive the result file", "[network][reports]") {
  const Example example;
  const sim::NetworkResult network = sim::measure_network(example.graph, example.timeline, 3);
  const auto lines = reports::network_lines(network, 4, {});
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], Catch::Matchers::Contains("sharing adds 33.3 %, 2 of 3 transfers late"));
  CHECK_THAT(lines[1], Catch::Matchers::Contains("shared (4 alike)") &&
                           Catch::Matchers::Contains("[@@@@@@@@@@          ]"));
  base::JsonWriter json;
  reports::write_network(json, network, 4);
  const base::Document document = base::parse_json(json.finish(), "r.json");
  const sim::NetworkResult again = reports::read_network(base::Fields(document, document.root));
  CHECK(again.alone_time == network.alone_time);
  REQUIRE(again.links.size() == 1);
  CHECK(again.links[0].utilisation == network.links[0].utilisation);
  CHECK(again.links[0].delay == network.links[0].delay);
  CHECK_THAT(reports::network_lines({}, 4, {}).front(),
             Catch::Matchers::Contains("no transfer slowed another down"));
}
