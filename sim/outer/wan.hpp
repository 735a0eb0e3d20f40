// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "models/outer/outer.hpp"
#include "models/scenario/scenario.hpp"

/// What joins workers on several sites, and what an exchange takes on it.
namespace paceline::sim {

/// One direction of a link between sites or of what joins a site to them.
struct WanWire {
  std::string name;
  double rate = 0;         ///< B/s
  int from = -1, to = -1;  ///< sites of a link between two
};
struct WanWay {
  bool open = true;  ///< false: no way leads there
  std::vector<int> wires;
  double latency = 0;  ///< s
  double cap = 0;      ///< B/s of one message; 0: none
};

struct Wan {
  std::vector<std::string> sites;
  std::vector<WanWire> wires;
  std::vector<WanWay> ways;  ///< from site to site, row by row
  std::vector<int> worker_site;
  double worker_rate = 0;  ///< B/s of the ports of a worker's nodes, each way
  double inside_latency = 0;
  const WanWay& way(int from, int to) const {
    return ways[static_cast<std::size_t>(from) * sites.size() + static_cast<std::size_t>(to)];
  }
};

/// Of a scenario with sites and `outer` without a bandwidth.
Wan wan_of(const models::Scenario& scenario);
/// The same with links of these outages dead.
Wan without_links(const Wan& wan, const std::vector<models::OuterOutage>& outages);

/// Exchanges between workers, for one byte of each worker's model.
struct ExchangeCost {
  std::vector<double> seconds;  ///< by worker, per byte
  std::vector<double> latency;  ///< by worker, once
  std::vector<double> carried;  ///< by wire, bytes
  double sent = 0;              ///< bytes of a worker, one way, on average over those there
  double egress = 0;            ///< bytes that leave a site, of all
};

/// `there`: the workers that take part; `partner[w]` with gossip (w itself: nobody). Flows of a
/// phase share wires so that all end together: the fullest wire or the slowest message sets the
/// time.
ExchangeCost exchange_cost(const Wan& wan, models::OuterExchange exchange, bool gathers,
                           const std::vector<bool>& there, const std::vector<int>& partner,
                           int server);

}  // namespace paceline::sim
