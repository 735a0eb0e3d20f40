// SPDX-License-Identifier: Apache-2.0
#include "sim/outer/outer.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "sim/engine/reference.hpp"
#include "sim/outer/rounds.hpp"

namespace paceline::sim {

using models::OuterChoice;
using models::OuterExchange;

TaskGraph outer_graph(const OuterChoice& outer, const InnerStep& step, int rounds, const Wan* wan) {
  return build_rounds(outer, step, rounds, wan).graph;
}

namespace {

struct Simulated {
  double end = 0;    ///< of the last inner step
  double codec = 0;  ///< s of a round
  Traffic traffic;
};
Simulated simulate_rounds(const OuterChoice& outer, const InnerStep& step, int rounds,
                          const Wan* wan) {
  const BuiltRounds built = build_rounds(outer, step, rounds, wan);
  const Timeline timeline = run_reference(built.graph);
  Simulated s{0, built.codec, built.traffic};
  for (TaskId t = 0; t < built.graph.tasks.size(); ++t) {
    if (built.graph.tasks[t].stream == Stream::Compute) s.end = std::max(s.end, timeline.finish[t]);
  }
  return s;
}

void add_links(const OuterChoice& outer, const Wan* wan, const Traffic& traffic, double rounds,
               OuterResult& result) {
  const auto add = [&](const std::string& name, double bytes, double rate) {
    if (bytes > 0) result.links.push_back({name, bytes, bytes / rate / result.round_seconds});
  };
  if (wan == nullptr) {
    const bool server = outer.exchange == OuterExchange::Server;
    add("a worker's link", result.sent_bytes, outer.bandwidth.value);
    if (server) add("the server's link", result.sent_bytes * outer.workers, outer.bandwidth.value);
    return;
  }
  for (std::size_t i = 0; i < wan->wires.size(); ++i)
    add(wan->wires[i].name, traffic.carried[i] / rounds, wan->wires[i].rate);
}

}  // namespace

double working_share(const OuterChoice& outer) {
  double away = 0;
  for (const models::OuterOutage& o : outer.outages)
    if (o.worker >= 0) away += o.last - o.first + 1;
  return std::max(0.0, 1 - away / outer.workers / outer.rounds);
}

OuterResult simulate_outer(const OuterChoice& outer, const InnerStep& step, const Wan* wan) {
  // Exchanges reach at most two rounds far; all partners meet within as many rounds as workers.
  constexpr int kWarm = 4;
  const bool alike = outer.slowness.empty() && wan == nullptr;
  const int more = alike ? 4 : std::max(4, std::min(outer.workers, 64));
  const int rounds = outer.varies() ? outer.rounds : kWarm + more;
  const Simulated all = simulate_rounds(outer, step, rounds, wan);
  OuterResult result;
  result.workers = outer.workers;
  result.inner_steps = outer.inner_steps;
  result.round_seconds = outer.varies()
                             ? all.end / rounds
                             : (all.end - simulate_rounds(outer, step, kWarm, wan).end) / more;
  result.step_seconds = result.round_seconds / outer.inner_steps;
  double slowness = 0;
  for (const double s : outer.slowness) slowness += s / outer.workers;
  if (outer.slowness.empty()) slowness = 1;
  const double busy = slowness * outer.inner_steps * step.seconds * working_share(outer);
  result.utilisation = busy / result.round_seconds;
  result.exposed_seconds = result.round_seconds - busy;
  constexpr double kRounding = 1e-9;  // of sums over rounds
  if (std::abs(result.exposed_seconds) < kRounding * result.round_seconds)
    result.exposed_seconds = 0;
  result.codec_seconds = all.codec;
  result.sent_bytes = all.traffic.sent / rounds;
  result.egress_bytes = all.traffic.egress / rounds / outer.inner_steps;
  result.missed = all.traffic.syncs > 0 ? all.traffic.missed / all.traffic.syncs : 0;
  add_links(outer, wan, all.traffic, rounds, result);
  return result;
}

OuterResult simulate_data_parallel(const OuterChoice& outer, const InnerStep& step,
                                   const Wan* wan) {
  OuterChoice plain = outer;
  plain.method = &models::outer_methods().front();
  PACELINE_CHECK(plain.method->name == "data-parallel");
  plain.inner_steps = 1;
  plain.fragments = 1;
  plain.overlap = 0;
  plain.codec = nullptr;
  plain.lost = 0;
  plain.outages.clear();
  if (outer.exchange == OuterExchange::Gossip) plain.exchange = OuterExchange::Ring;
  return simulate_outer(plain, step, wan);
}

}  // namespace paceline::sim
