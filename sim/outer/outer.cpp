// SPDX-License-Identifier: Apache-2.0
#include "sim/outer/outer.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/engine/reference.hpp"

namespace paceline::sim {
namespace {

using models::OuterChoice;
using models::OuterExchange;
using models::OuterSync;

OuterExchange exchange_of(const OuterChoice& outer, const OuterSync& sync) {
  return sync.pairs ? OuterExchange::Gossip : outer.exchange;
}

/// How often a byte crosses the busiest link, and messages that follow each other.
struct Crossings {
  double times = 1, messages = 1;
};
Crossings crossings(OuterExchange exchange, double workers) {
  if (workers <= 1) return {0, 0};
  switch (exchange) {
    case OuterExchange::Ring:
      return {2 * (workers - 1) / workers, 2 * (workers - 1)};
    case OuterExchange::Butterfly:
      return {2 * (workers - 1) / workers, 2 * std::ceil(std::log2(workers))};
    case OuterExchange::Gossip:
      return {1, 1};
    case OuterExchange::Server:
      return {workers, 2};
    case OuterExchange::Once:
      return {1, 0};
  }
  return {};
}

/// Bits of one element as it is sent. Codecs see the model as one square matrix: their wire is a
/// share of it that hardly depends on the shape.
double sent_bits(const OuterChoice& outer, double elements) {
  if (outer.codec == nullptr) return outer.element_bits;
  const double edge = std::sqrt(elements);
  const models::CodecTensor tensor{edge, edge, 1, 4};
  return 8 * outer.codec->encoded(outer.codec_settings, tensor).wire_bytes / elements;
}

/// Builds the graph of so many rounds.
class Rounds {
 public:
  Rounds(const OuterChoice& outer, const InnerStep& step) : outer_(outer), step_(step) {
    make_lanes();
    graph_.segments.resize(2);
    graph_.segments[kCompute].name = "inner steps";
    graph_.segments[kExchange].name = "exchange";
    syncs_ = outer.method->round(outer, step.layers);
    for (const OuterSync& sync : syncs_) costs_.push_back(sync_cost(outer, step, sync));
    waits_.resize(graph_.lanes.size());
  }

  void add(std::int64_t round) {
    for (std::size_t i = 0; i < syncs_.size(); ++i) {
      const bool first = i == 0 || syncs_[i].after != syncs_[i - 1].after;
      if (first) add_step_with_syncs(round, i);
    }
    advance((round + 1) * outer_.inner_steps);
  }
  TaskGraph take() { return std::move(graph_); }

 private:
  static constexpr std::uint16_t kCompute = 0, kExchange = 1;

  void make_lanes() {
    const bool alone = outer_.slowness.empty();
    const bool pairs = outer_.exchange == OuterExchange::Gossip || uses_pairs();
    if (alone) {
      graph_.lanes.push_back({0, outer_.workers, {}});
      slowness_ = {1};
      return;
    }
    for (int w = 0; w < outer_.workers; ++w) {
      const double slow = outer_.slowness[static_cast<std::size_t>(w)];
      const auto found = std::find(slowness_.begin(), slowness_.end(), slow);
      if (!pairs && found != slowness_.end()) {
        ++graph_.lanes[static_cast<std::size_t>(found - slowness_.begin())].members;
        continue;
      }
      graph_.lanes.push_back({w, 1, {}});
      slowness_.push_back(slow);
    }
  }
  bool uses_pairs() const {
    const auto syncs = outer_.method->round(outer_, step_.layers);
    return std::any_of(syncs.begin(), syncs.end(), [](const OuterSync& s) { return s.pairs; });
  }

  TaskId compute(std::size_t lane, double seconds, std::span<const TaskId> deps) {
    Task task;
    task.seconds = seconds * slowness_[lane];
    task.lane = static_cast<std::uint32_t>(lane);
    task.segment = kCompute;
    return graph_.add(task, deps);
  }

  /// Inner steps up to `until`, in pieces that start where exchanges must be over.
  void advance(std::int64_t until) {
    for (std::size_t lane = 0; lane < graph_.lanes.size(); ++lane) {
      std::int64_t from = done_;
      while (from < until) {
        const std::vector<TaskId> deps = take_waits(lane, from);
        const auto next = waits_[lane].upper_bound(from);
        const std::int64_t to = next == waits_[lane].end() ? until : std::min(until, next->first);
        compute(lane, static_cast<double>(to - from) * step_.seconds, deps);
        from = to;
      }
    }
    done_ = std::max(done_, until);
  }

  std::vector<TaskId> take_waits(std::size_t lane, std::int64_t step) {
    std::vector<TaskId> deps;
    auto& waits = waits_[lane];
    while (!waits.empty() && waits.begin()->first <= step) {
      deps.push_back(waits.begin()->second);
      waits.erase(waits.begin());
    }
    return deps;
  }

  /// The step that ends with the syncs from number `first` on that share it.
  void add_step_with_syncs(std::int64_t round, std::size_t first) {
    const std::int64_t number = round * outer_.inner_steps + syncs_[first].after;
    advance(number);
    const std::size_t lanes = graph_.lanes.size();
    for (std::size_t lane = 0; lane < lanes; ++lane)
      compute(lane, step_.seconds - step_.ready_seconds, take_waits(lane, number));
    std::vector<std::vector<TaskId>> ready(lanes);  // by lane: layer l's piece at L - 1 - l
    const double piece = step_.ready_seconds / step_.layers;
    for (int l = step_.layers - 1; l >= 0; --l) {
      for (std::size_t lane = 0; lane < lanes; ++lane)
        ready[lane].push_back(compute(lane, piece, {}));
    }
    done_ = number + 1;
    for (std::size_t i = first; i < syncs_.size() && syncs_[i].after == syncs_[first].after; ++i)
      send(round, i, ready);
  }

  void send(std::int64_t round, std::size_t index, const std::vector<std::vector<TaskId>>& ready) {
    const OuterSync& sync = syncs_[index];
    const bool pairs = exchange_of(outer_, sync) == OuterExchange::Gossip;
    const std::size_t lanes = graph_.lanes.size();
    std::vector<TaskId> last(lanes, kNoTask);
    for (auto layer = sync.layers.rbegin(); layer != sync.layers.rend(); ++layer) {
      const auto at = static_cast<std::size_t>(step_.layers - 1 - *layer);
      std::vector<TaskId> all;
      for (std::size_t lane = 0; lane < lanes && !pairs; ++lane) all.push_back(ready[lane][at]);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        if (pairs) all = {ready[lane][at], ready[partner(lane, round)][at]};
        const bool end = layer + 1 == sync.layers.rend();
        last[lane] = exchange(
            lane, costs_[index].layer_seconds + (end ? costs_[index].tail_seconds : 0), all);
      }
    }
    const std::int64_t before = round * outer_.inner_steps + sync.before;
    for (std::size_t lane = 0; lane < lanes; ++lane) waits_[lane].emplace(before, last[lane]);
  }

  std::size_t partner(std::size_t lane, std::int64_t round) const {
    const auto lanes = static_cast<std::int64_t>(graph_.lanes.size());
    const std::int64_t other = (round - static_cast<std::int64_t>(lane)) % lanes;
    return static_cast<std::size_t>((other + lanes) % lanes);
  }

  TaskId exchange(std::size_t lane, double seconds, std::span<const TaskId> deps) {
    Task task;
    task.seconds = seconds;
    task.lane = static_cast<std::uint32_t>(lane);
    task.stream = Stream::Dp;
    task.kind = TaskKind::Collective;
    task.segment = kExchange;
    return graph_.add(task, deps);
  }

  const OuterChoice& outer_;
  const InnerStep& step_;
  TaskGraph graph_;
  std::vector<double> slowness_;  ///< by lane
  std::vector<OuterSync> syncs_;
  std::vector<SyncCost> costs_;
  std::int64_t done_ = 0;                                   ///< inner steps that have their tasks
  std::vector<std::multimap<std::int64_t, TaskId>> waits_;  ///< by lane: step, what it waits for
};

}  // namespace

SyncCost sync_cost(const OuterChoice& outer, const InnerStep& step, const OuterSync& sync) {
  const Crossings c = crossings(exchange_of(outer, sync), outer.workers);
  const double elements = sync.share * step.parameters / step.layers;
  SyncCost cost;
  const double payload = elements * sent_bits(outer, step.parameters) / 8;
  cost.layer_bytes = payload * std::min(c.times, 2.0);  // of a worker, not of the server
  cost.layer_seconds = payload * c.times / outer.bandwidth.value;
  cost.tail_seconds = c.messages * outer.latency.value;
  return cost;
}

TaskGraph outer_graph(const OuterChoice& outer, const InnerStep& step, int rounds) {
  Rounds builder(outer, step);
  for (int round = 0; round < rounds; ++round) builder.add(round);
  return builder.take();
}

OuterResult simulate_outer(const OuterChoice& outer, const InnerStep& step) {
  // Exchanges reach at most two rounds far; all partners meet within as many rounds as workers.
  constexpr int kWarm = 4;
  const int measured = outer.slowness.empty() ? 4 : std::max(4, std::min(outer.workers, 64));
  const auto syncs = outer.method->round(outer, step.layers);
  const auto end_of = [&](int rounds) {
    const TaskGraph graph = outer_graph(outer, step, rounds);
    const Timeline timeline = run_reference(graph);
    double end = 0;
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      if (graph.tasks[t].stream == Stream::Compute) end = std::max(end, timeline.finish[t]);
    }
    return end;
  };
  OuterResult result;
  result.workers = outer.workers;
  result.inner_steps = outer.inner_steps;
  result.round_seconds = (end_of(kWarm + measured) - end_of(kWarm)) / measured;
  result.step_seconds = result.round_seconds / outer.inner_steps;
  double slowness = 0;
  for (const double s : outer.slowness) slowness += s / outer.workers;
  if (outer.slowness.empty()) slowness = 1;
  const double busy = slowness * outer.inner_steps * step.seconds;
  result.utilisation = busy / result.round_seconds;
  result.exposed_seconds = result.round_seconds - busy;
  constexpr double kRounding = 1e-9;  // of sums over rounds
  if (std::abs(result.exposed_seconds) < kRounding * result.round_seconds)
    result.exposed_seconds = 0;
  for (const OuterSync& sync : syncs) {
    result.sent_bytes +=
        sync_cost(outer, step, sync).layer_bytes * static_cast<double>(sync.layers.size());
  }
  return result;
}

OuterResult simulate_data_parallel(const OuterChoice& outer, const InnerStep& step) {
  OuterChoice plain = outer;
  plain.method = &models::outer_methods().front();
  PACELINE_CHECK(plain.method->name == "data-parallel");
  plain.inner_steps = 1;
  plain.fragments = 1;
  plain.overlap = 0;
  plain.codec = nullptr;
  if (outer.exchange == OuterExchange::Gossip) plain.exchange = OuterExchange::Ring;
  return simulate_outer(plain, step);
}

}  // namespace paceline::sim
