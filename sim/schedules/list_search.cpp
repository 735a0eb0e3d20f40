// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/list_search.hpp"

#include <algorithm>
#include <bit>
#include <deque>
#include <numeric>
#include <span>

#include "base/error.hpp"

namespace paceline::sim {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;  // relative: what sums of the same times may differ by

/// What a rank does next: an action, when, and whether it needs memory that is not there.
struct Next {
  double start = kUnknown;
  Action action;
  bool blocked = false;  ///< a forward is ready but does not fit
  int place = 0;         ///< in the rest of the order followed
};

struct RankState {
  double free = 0;
  double first = -1;  ///< start of its first action
  double idle = 0;
  double held = 0;       ///< activations
  double reducible = 0;  ///< of these, what pending W would free
  double work_left = 0;  ///< seconds of all it has to do yet
  int forwards_left = 0;
  bool began_backward = false;
  bool forward_last = false;
  std::deque<Action> weights;  ///< W that could run
  Next next;
};

/// Plays the ranks forward in time: always the earliest action of all ranks, lowest rank first.
class Player {
 public:
  explicit Player(const ListProblem& problem)
      : problem_(problem),
        ranks_(static_cast<std::size_t>(problem.ranks)),
        ends_(static_cast<std::size_t>(2 * problem.stages()) *
                  static_cast<std::size_t>(problem.microbatches),
              kUnknown),
        leaves_(std::bit_ceil(std::max(ranks_.size(), std::size_t{2}))),
        earliest_(2 * leaves_) {
    std::iota(earliest_.begin() + static_cast<std::ptrdiff_t>(leaves_), earliest_.end(), 0);
    for (std::size_t node = leaves_; --node > 0;) earliest_[node] = earliest_[2 * node];
    found_.order.resize(ranks_.size());
    for (auto& order : found_.order) {
      order.reserve(static_cast<std::size_t>(3 * problem.chunks * problem.microbatches));
    }
    for (RankState& state : ranks_) state.forwards_left = problem.chunks * problem.microbatches;
    for (int stage = 0; stage < problem.stages(); ++stage) {
      const StageTime& t = time(stage);
      at(rank_of(stage)).work_left +=
          problem.microbatches *
          (t.forward.value + t.input_gradient.value + t.weight_gradient.value);
    }
  }

  /// `choose(rank)` says what a rank does next, W aside; `taken(rank, next)` that it has been done.
  /// Gives up, with an empty order, where a rank cannot end within `longest` any more.
  template <typename Choose, typename Taken>
  Found play(Fill fill, double longest, const Choose& choose, const Taken& taken) {
    const double last_chance = longest * (1 + 4 * kRounding);  // ties go by makespan
    const auto renew = [&](int rank) {
      at(rank).next = with_weights(rank, choose(rank), fill);
      replay_matches(rank);
    };
    for (int rank = 0; rank < problem_.ranks; ++rank) renew(rank);
    const std::int64_t passes = problem_.splits_backward ? 3 : 2;
    for (std::int64_t left = passes * problem_.stages() * problem_.microbatches; left > 0; --left) {
      const int rank = earliest_[1];
      const Next next = at(rank).next;
      PACELINE_CHECK(next.start < kUnknown);
      run(rank, next);
      if (state(rank).free - state(rank).first + state(rank).work_left > last_chance) return {};
      if (next.action.pass != kWeight) taken(rank, next);
      renew(rank);
      const int to = receiver(next.action);
      if (to >= 0 && to != rank) renew(to);
    }
    found_.makespan = found_.longest = 0;
    for (const RankState& state : ranks_) {
      found_.makespan = std::max(found_.makespan, state.free);
      found_.longest = std::max(found_.longest, state.free - state.first);
    }
    return std::move(found_);
  }

  const RankState& state(int rank) const { return ranks_[static_cast<std::size_t>(rank)]; }

  /// When what `action` needs has arrived, as far as that is known.
  double arrival(const Action& action) const {
    const bool forward = action.pass == kForward;
    if (forward && action.stage == 0) return 0;
    const bool turn = !forward && action.stage + 1 == problem_.stages();
    const std::uint8_t pass = turn ? kForward : action.pass;
    const int from = turn ? action.stage : action.stage + (forward ? -1 : 1);
    const bool local = rank_of(from) == rank_of(action.stage);
    return end_of(pass, from, action.microbatch) + (local ? 0 : problem_.times.hop.value);
  }

  bool fits(int rank, double held, int stage) const {
    const double limit = problem_.limit[static_cast<std::size_t>(rank)];
    return held + activation(stage) <= limit * (1 + kRounding);
  }
  double activation(int stage) const { return time(stage).activation.value; }
  double seconds(const Action& action) const {
    const StageTime& t = time(action.stage);
    if (action.pass == kForward) return t.forward.value;
    if (action.pass == kWeight) return t.weight_gradient.value;
    return t.input_gradient.value + (problem_.splits_backward ? 0 : t.weight_gradient.value);
  }

 private:
  RankState& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  const StageTime& time(int stage) const {
    return problem_.times.stages[static_cast<std::size_t>(stage)];
  }
  int rank_of(int stage) const { return zigzag_rank(problem_.ranks, stage); }
  std::size_t slot(std::uint8_t pass, int stage, int microbatch) const {
    const auto row = static_cast<std::size_t>(pass * problem_.stages() + stage);
    return row * static_cast<std::size_t>(problem_.microbatches) +
           static_cast<std::size_t>(microbatch);
  }
  double end_of(std::uint8_t pass, int stage, int microbatch) const {
    return ends_[slot(pass, stage, microbatch)];
  }
  int receiver(const Action& action) const {
    if (action.pass == kForward)
      return action.stage + 1 < problem_.stages() ? rank_of(action.stage + 1) : -1;
    return action.pass == kInput && action.stage > 0 ? rank_of(action.stage - 1) : -1;
  }

  /// W instead of `next` where it frees the memory that is missing or uses a wait.
  Next with_weights(int rank, const Next& next, Fill fill) const {
    const RankState& s = state(rank);
    if (s.weights.empty()) return next;
    const Action weight = s.weights.front();
    const double wait = next.start - s.free;
    const bool fitting = wait >= seconds(weight) * (1 - kRounding);
    const bool filling =
        wait > 0 && (fitting || fill == Fill::Always ||
                     (fill == Fill::Balanced && s.idle + wait > most_idle_ * (1 + kRounding)));
    return next.blocked || filling ? Next{s.free, weight, false, 0} : next;
  }

  /// The earliest rank of each node of a binary tree over the ranks, the lower one of equals.
  void replay_matches(int rank) {
    for (std::size_t node = (leaves_ + static_cast<std::size_t>(rank)) / 2; node > 0; node /= 2) {
      const int left = earliest_[2 * node], right = earliest_[2 * node + 1];
      const bool take_right =
          right < problem_.ranks && state(right).next.start < state(left).next.start;
      earliest_[node] = take_right ? right : left;
    }
  }

  void run(int rank, const Next& next) {
    RankState& s = at(rank);
    const Action& action = next.action;
    const StageTime& t = time(action.stage);
    const double early = std::min(t.freed_by_input.value, t.activation.value);
    const double end = next.start + seconds(action);
    s.work_left -= seconds(action);
    if (s.first < 0) {
      s.first = next.start;
    } else {
      s.idle += next.start - s.free;
      most_idle_ = std::max(most_idle_, s.idle);
    }
    if (action.pass == kForward) {
      s.held += t.activation.value;
      --s.forwards_left;
    } else if (action.pass == kWeight) {
      s.weights.pop_front();
      s.held -= t.activation.value - early;
      s.reducible -= t.activation.value - early;
    } else if (problem_.splits_backward) {
      s.held -= early;
      s.reducible += t.activation.value - early;
      s.weights.push_back(stage_action(kWeight, action.stage, action.microbatch));
    } else {
      s.held -= t.activation.value;
    }
    if (action.pass != kWeight) {
      ends_[slot(action.pass, action.stage, action.microbatch)] = end;
      s.forward_last = action.pass == kForward;
      s.began_backward = s.began_backward || action.pass == kInput;
    } else {
      s.forward_last = false;
    }
    s.free = end;
    found_.order[static_cast<std::size_t>(rank)].push_back(action);
  }

  const ListProblem& problem_;
  std::vector<RankState> ranks_;
  std::vector<double> ends_;   ///< of F and B, by stage and microbatch
  std::size_t leaves_;         ///< of the tree of ranks
  std::vector<int> earliest_;  ///< its nodes, the root at 1
  double most_idle_ = 0;       ///< of any rank
  Found found_;
};

/// The rules of search_order: what the only stage of a rank runs next.
Next prefer(const Player& player, int rank, int forward, int backward, const ListProblem& problem,
            const ListRules& rules) {
  const RankState& s = player.state(rank);
  const Action f = stage_action(kForward, rank, forward);
  const Action b = stage_action(kInput, rank, backward);
  const double f_at = forward < problem.microbatches ? player.arrival(f) : kUnknown;
  const double b_at = backward < problem.microbatches ? player.arrival(b) : kUnknown;
  const bool fits = player.fits(rank, s.held, rank);
  const bool b_now = b_at <= s.free, f_now = f_at <= s.free && fits;
  const bool blocked = f_at <= s.free && !fits;
  if (b_now && f_now) {
    const bool take_forward =
        s.began_backward ? rules.alternate && !s.forward_last : rules.delay_first_backward;
    return {s.free, take_forward ? f : b};
  }
  if (b_now) return {s.free, b, blocked && rules.free_when_full};
  if (f_now) {
    const bool delays = !s.began_backward && b_at < s.free + player.seconds(f);
    if (delays && !rules.delay_first_backward) return {b_at, b};
    return {s.free, f};
  }
  if (fits && f_at < b_at) return {f_at, f, blocked};
  return {b_at, b, blocked};
}

/// The rules of follow_order: the first of `rest` that can start soonest, moves allowed.
Next next_of_order(const Player& player, int rank, std::span<const Action> rest,
                   const ListProblem& problem, const FollowRules& rules) {
  const RankState& s = player.state(rank);
  const bool drain = s.forwards_left == 0;
  const int backward = drain ? rules.backward_in_drain : rules.backward;
  const int farthest =
      std::max({drain ? 0 : rules.first_chunk_forward, drain ? 0 : rules.later_forward, backward});
  const int places = std::min(farthest + 1, static_cast<int>(rest.size()));
  Next next;
  double held = s.held - s.reducible, peak = held;  // were every W run at once
  for (int place = 0; place < places && next.start > s.free; ++place) {
    const Action& action = rest[static_cast<std::size_t>(place)];
    const bool is_forward = action.pass == kForward;
    const int reach = !is_forward                    ? backward
                      : action.stage < problem.ranks ? rules.first_chunk_forward
                                                     : rules.later_forward;
    const bool may =
        place == 0 || (place <= reach && (!is_forward || player.fits(rank, peak, action.stage)));
    const double start = may ? std::max(s.free, player.arrival(action)) : kUnknown;
    if (start < next.start) next = {start, action, false, place};
    held += player.activation(action.stage) * (is_forward ? 1 : -1);
    peak = std::max(peak, held);
  }
  next.blocked = next.start < kUnknown && next.action.pass == kForward &&
                 !player.fits(rank, s.held, next.action.stage);
  return next;
}

}  // namespace

ListProblem list_problem(const PipelineShape& shape, double limit) {
  ListProblem problem;
  problem.ranks = shape.ranks;
  problem.chunks = shape.chunks;
  problem.microbatches = shape.microbatches;
  problem.times = shape.times;
  if (shape.times.stages.empty()) {
    const base::Seconds unit(pass_seconds(shape, "F", 0));
    problem.times = uniform_times(shape.stages(), {unit, unit, unit, {}});
  }
  auto& stages = problem.times.stages;
  const bool stores = std::any_of(stages.begin(), stages.end(),
                                  [](const StageTime& t) { return t.activation.value > 0; });
  if (!stores) {
    for (StageTime& t : stages) t.activation = base::Bytes(1), t.freed_by_input = base::Bytes(0);
  }
  problem.limit.assign(static_cast<std::size_t>(shape.ranks), 0);
  for (int s = 0; s < shape.stages(); ++s) {
    problem.limit[static_cast<std::size_t>(zigzag_rank(shape.ranks, s))] +=
        limit * stages[static_cast<std::size_t>(s)].activation.value;
  }
  return problem;
}

Found search_order(const ListProblem& problem, const ListRules& rules, double longest) {
  PACELINE_CHECK(problem.chunks == 1 && problem.splits_backward);
  std::vector<int> forward(static_cast<std::size_t>(problem.ranks), 0), backward = forward;
  Player player(problem);
  const auto choose = [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    return prefer(player, rank, forward[r], backward[r], problem, rules);
  };
  const auto taken = [&](int rank, const Next& next) {
    ++(next.action.pass == kForward ? forward : backward)[static_cast<std::size_t>(rank)];
  };
  return player.play(rules.fill, longest, choose, taken);
}

Found follow_order(const ListProblem& problem, std::vector<std::vector<Action>> order,
                   const FollowRules& rules, double longest) {
  std::vector<std::size_t> heads(order.size(), 0);
  Player player(problem);
  const auto choose = [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    return next_of_order(player, rank, std::span(order[r]).subspan(heads[r]), problem, rules);
  };
  const auto taken = [&](int rank, const Next& next) {
    auto& rest = order[static_cast<std::size_t>(rank)];
    std::size_t& head = heads[static_cast<std::size_t>(rank)];
    const auto at = rest.begin() + static_cast<std::ptrdiff_t>(head);
    std::rotate(at, at + next.place, at + next.place + 1);
    ++head;
  };
  return player.play(rules.fill, longest, choose, taken);
}

bool better(const Found& a, const Found& b) {
  const double room = kRounding * a.longest;
  if (a.longest < b.longest - room) return true;
  return a.longest <= b.longest + room && a.makespan < b.makespan * (1 - kRounding);
}

}  // namespace paceline::sim
