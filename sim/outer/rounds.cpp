// SPDX-License-Identifier: Apache-2.0
#include "sim/outer/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/rng.hpp"
#include "sim/outer/exchange.hpp"

namespace paceline::sim {
namespace {

using models::OuterChoice;
using models::OuterExchange;
using models::OuterSync;

OuterExchange exchange_of(const OuterChoice& outer, const OuterSync& sync) {
  return sync.pairs ? OuterExchange::Gossip : outer.exchange;
}

/// Builds the graph of so many rounds.
class Rounds {
 public:
  Rounds(const OuterChoice& outer, const InnerStep& step, const Wan* wan)
      : outer_(outer), step_(step), wan_(wan), lots_(outer.seed) {
    make_lanes();
    works_.assign(graph_.lanes.size(), true);
    there_ = worked_ = works_;
    if (wan != nullptr) traffic_.carried.assign(wan->wires.size(), 0.0);
    graph_.segments.resize(2);
    graph_.segments[kCompute].name = "inner steps";
    graph_.segments[kExchange].name = "exchange";
    syncs_ = outer.method->round(outer, step.layers);
    for (const OuterSync& sync : syncs_) {
      const double elements = sync.share * step.parameters / step.layers;
      const OuterExchange kind = exchange_of(outer, sync);
      codes_.push_back(outer_code(outer, step, kind, elements, outer.workers));
    }
    waits_.resize(graph_.lanes.size());
  }

  void add(std::int64_t round) {
    draw_round(round);
    for (std::size_t i = 0; i < syncs_.size(); ++i) {
      const bool first = i == 0 || syncs_[i].after != syncs_[i - 1].after;
      if (first) add_step_with_syncs(round, i);
    }
    advance((round + 1) * outer_.inner_steps);
  }
  TaskGraph take() { return std::move(graph_); }
  const Traffic& traffic() const { return traffic_; }
  /// Seconds of a round that codecs take on the compute stream of a worker.
  double codec_seconds() const {
    double sum = 0;
    for (std::size_t i = 0; i < syncs_.size(); ++i)
      sum += static_cast<double>(syncs_[i].layers.size()) *
             (codes_[i].encode + codes_[i].decode + codes_[i].aside);
    return sum;
  }

 private:
  static constexpr std::uint16_t kCompute = 0, kExchange = 1;

  void make_lanes() {
    const bool pairs = outer_.exchange == OuterExchange::Gossip || uses_pairs();
    const bool each = outer_.varies() || (wan_ != nullptr && pairs);
    if (outer_.slowness.empty() && !each) {
      graph_.lanes.push_back({0, outer_.workers, {}});
      slowness_ = {1};
      return;
    }
    for (int w = 0; w < outer_.workers; ++w) {
      const double slow =
          outer_.slowness.empty() ? 1 : outer_.slowness[static_cast<std::size_t>(w)];
      const auto found = std::find(slowness_.begin(), slowness_.end(), slow);
      if (!pairs && !each && found != slowness_.end()) {
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

  /// Who works in a round, who takes part in its exchange, and on what links.
  void draw_round(std::int64_t round) {
    if (!outer_.varies()) return;
    worked_ = works_;
    std::vector<models::OuterOutage> dead;
    works_.assign(works_.size(), true);
    for (const models::OuterOutage& o : outer_.outages) {
      if (round + 1 < o.first || round + 1 > o.last) continue;
      if (o.worker >= 0) works_[static_cast<std::size_t>(o.worker)] = false;
      if (o.worker < 0) dead.push_back(o);
    }
    there_ = works_;
    for (std::size_t w = 0; w < there_.size(); ++w)
      if (lots_.uniform() < outer_.lost) there_[w] = false;
    if (wan_ == nullptr) return;
    if (!dead.empty()) {
      cut_ = without_links(*wan_, dead);
      leave_cut_off();
    }
    links_ = dead.empty() ? wan_ : &cut_;
  }

  /// Workers that cannot reach the site with most of them.
  void leave_cut_off() {
    std::vector<int> count(cut_.sites.size(), 0);
    for (const int site : cut_.worker_site) ++count[static_cast<std::size_t>(site)];
    const auto most =
        static_cast<int>(std::max_element(count.begin(), count.end()) - count.begin());
    for (std::size_t w = 0; w < there_.size(); ++w) {
      const int site = cut_.worker_site[w];
      if (!cut_.way(site, most).open || !cut_.way(most, site).open) there_[w] = false;
    }
  }

  /// Of the exchange in a round; where rounds are alike, the same one.
  const ExchangeCost& cost_of(OuterExchange exchange, std::int64_t round) {
    const bool pairs = exchange == OuterExchange::Gossip;
    ExchangeCost& cost = pairs ? pair_cost_ : all_cost_;
    const bool alike = !outer_.varies() && !(pairs && wan_ != nullptr);
    if (alike && !cost.seconds.empty()) return cost;
    if (wan_ == nullptr) {
      cost = on_own_links(outer_, exchange, all_workers());
      return cost;
    }
    std::vector<int> partners;
    for (std::size_t w = 0; w < there_.size() && pairs; ++w)
      partners.push_back(static_cast<int>(partner(w, round)));
    cost =
        exchange_cost(*links_, exchange, gathers(outer_), all_workers(), partners, outer_.server);
    return cost;
  }
  /// By worker, where lanes may be classes of them.
  std::vector<bool> all_workers() const {
    if (outer_.varies()) return there_;
    return std::vector<bool>(static_cast<std::size_t>(outer_.workers), true);
  }
  std::size_t worker_of(std::size_t lane) const {
    return static_cast<std::size_t>(graph_.lanes[lane].representative);
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
      if (!works_[lane]) continue;
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

  /// What the inner step of a number has to wait for, decoded.
  std::vector<TaskId> take_waits(std::size_t lane, std::int64_t step) {
    std::vector<TaskId> deps;
    double decode = 0;
    auto& waits = waits_[lane];
    while (!waits.empty() && waits.begin()->first <= step) {
      deps.push_back(waits.begin()->second.exchange);
      decode += waits.begin()->second.decode;
      waits.erase(waits.begin());
    }
    if (!worked_[lane] && latest_ != kNoTask) deps.push_back(latest_);  // back with the others
    worked_[lane] = true;
    if (decode <= 0) return deps;
    compute(lane, decode, deps);
    return {};
  }

  /// The step that ends with the syncs from number `first` on that share it.
  void add_step_with_syncs(std::int64_t round, std::size_t first) {
    const std::int64_t number = round * outer_.inner_steps + syncs_[first].after;
    advance(number);
    const std::size_t lanes = graph_.lanes.size();
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      if (works_[lane])
        compute(lane, step_.seconds - step_.ready_seconds, take_waits(lane, number));
    }
    std::vector<std::vector<TaskId>> ready(lanes);  // by lane: layer l's piece at L - 1 - l
    std::size_t end = first;
    while (end < syncs_.size() && syncs_[end].after == syncs_[first].after) ++end;
    double aside = 0;
    for (std::size_t i = first; i < end; ++i)
      aside += static_cast<double>(syncs_[i].layers.size()) * codes_[i].aside;
    for (int l = step_.layers - 1; l >= 0; --l) {
      const double piece = step_.ready_seconds / step_.layers + encode_seconds(first, end, l);
      for (std::size_t lane = 0; lane < lanes; ++lane)
        ready[lane].push_back(works_[lane] ? compute(lane, piece, {}) : kNoTask);
    }
    for (std::size_t lane = 0; lane < lanes; ++lane)
      if (works_[lane] && aside > 0) compute(lane, aside, {});
    done_ = number + 1;
    for (std::size_t i = first; i < end; ++i) send(round, i, ready);
  }
  /// Of a layer, for the syncs with these numbers.
  double encode_seconds(std::size_t first, std::size_t end, int layer) const {
    double sum = 0;
    for (std::size_t i = first; i < end; ++i) {
      const std::vector<int>& layers = syncs_[i].layers;
      if (std::binary_search(layers.begin(), layers.end(), layer)) sum += codes_[i].encode;
    }
    return sum;
  }

  void send(std::int64_t round, std::size_t index, const std::vector<std::vector<TaskId>>& ready) {
    const OuterSync& sync = syncs_[index];
    const OuterExchange kind = exchange_of(outer_, sync);
    const bool pairs = kind == OuterExchange::Gossip;
    const ExchangeCost& cost = cost_of(kind, round);
    const std::size_t lanes = graph_.lanes.size();
    std::vector<TaskId> last(lanes, kNoTask);
    for (auto layer = sync.layers.rbegin(); layer != sync.layers.rend(); ++layer) {
      const auto at = static_cast<std::size_t>(step_.layers - 1 - *layer);
      const bool end = layer + 1 == sync.layers.rend();
      const double tail = end ? 1 : 0;
      if (!pairs) {
        send_to_all(ready, at, cost, codes_[index].bytes, tail, last);
        continue;
      }
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t other = partner(lane, round), w = worker_of(lane);
        if (!there_[lane] || !there_[other]) continue;
        const TaskId both[] = {ready[lane][at], ready[other][at]};
        last[lane] =
            exchange(lane, codes_[index].bytes * cost.seconds[w] + tail * cost.latency[w], both);
      }
    }
    const std::int64_t before = round * outer_.inner_steps + sync.before;
    const double decode = static_cast<double>(sync.layers.size()) * codes_[index].decode;
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      traffic_.syncs += 1;
      if (last[lane] == kNoTask) {
        traffic_.missed += 1;
        continue;
      }
      waits_[lane].emplace(before, Wait{last[lane], decode});
      latest_ = last[lane];
    }
    count(cost, codes_[index].bytes * static_cast<double>(sync.layers.size()));
  }

  /// One task for everyone there, who all take the same time; it stands on the first lane.
  void send_to_all(const std::vector<std::vector<TaskId>>& ready, std::size_t at,
                   const ExchangeCost& cost, double payload, double tail,
                   std::vector<TaskId>& last) {
    std::vector<TaskId> all;
    std::size_t w = 0;
    for (std::size_t lane = 0; lane < ready.size(); ++lane) {
      if (!there_[lane]) continue;
      all.push_back(ready[lane][at]);
      w = worker_of(lane);
    }
    if (all.empty()) return;
    const TaskId id = exchange(0, payload * cost.seconds[w] + tail * cost.latency[w], all);
    for (std::size_t lane = 0; lane < ready.size(); ++lane)
      if (there_[lane]) last[lane] = id;
  }

  void count(const ExchangeCost& cost, double payload) {
    traffic_.sent += payload * cost.sent;
    traffic_.egress += payload * cost.egress;
    for (std::size_t i = 0; i < cost.carried.size(); ++i)
      traffic_.carried[i] += payload * cost.carried[i];
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

  struct Wait {
    TaskId exchange = kNoTask;
    double decode = 0;
  };
  const OuterChoice& outer_;
  const InnerStep& step_;
  TaskGraph graph_;
  std::vector<double> slowness_;  ///< by lane
  std::vector<OuterSync> syncs_;
  std::vector<OuterCode> codes_;  ///< by sync, of a layer
  const Wan* wan_;
  const Wan* links_ = wan_;  ///< of the round
  Wan cut_;                  ///< where links are dead
  base::Rng lots_;
  std::vector<bool> works_, there_;  ///< by lane, in the round
  std::vector<bool> worked_;         ///< by lane, before
  TaskId latest_ = kNoTask;          ///< the last exchange of anyone
  ExchangeCost all_cost_, pair_cost_;
  Traffic traffic_;
  std::int64_t done_ = 0;                                 ///< inner steps that have their tasks
  std::vector<std::multimap<std::int64_t, Wait>> waits_;  ///< by lane, by the step that waits
};

}  // namespace

BuiltRounds build_rounds(const OuterChoice& outer, const InnerStep& step, int rounds,
                         const Wan* wan) {
  Rounds builder(outer, step, wan);
  for (int round = 0; round < rounds; ++round) builder.add(round);
  return {builder.take(), builder.traffic(), builder.codec_seconds()};
}

}  // namespace paceline::sim
