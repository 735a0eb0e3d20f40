// SPDX-License-Identifier: Apache-2.0
#include "sim/search/search.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <memory>
#include <thread>

#include "base/error.hpp"
#include "sim/predict.hpp"
#include "sim/search/branch.hpp"
#include "sim/search/incumbents.hpp"
#include "sim/search/judge.hpp"
#include "sim/search/lowest.hpp"

namespace paceline::sim {
namespace {

using models::Scenario;

constexpr double kNone = std::numeric_limits<double>::infinity();

void check_searchable(const Scenario& s) {
  const auto refuse = [&](const char* key, const std::string& what, const std::string& hint) {
    throw base::Error(models::where(s, key), what, hint);
  };
  if (!s.modules.empty())
    refuse("model", "modules have layouts of their own: there is not one to search",
           "plan each module as a model of its own");
  if (s.costs) refuse("costs", "given stage times hold for one layout only", "leave out costs");
  if (!s.schedule.file.empty())
    refuse("schedule.file", "an order from a file fits one layout only", "name a schedule");
}

/// What of the scenario takes no part in the choice.
Scenario searched(const Scenario& scenario) {
  check_searchable(scenario);
  Scenario s = scenario;
  s.choose_recompute = s.choose_offload = false;
  s.jitter.reset();
  s.outer.reset();
  s.failures.reset();
  s.foreign = {};
  return s;
}

class Searcher {
 public:
  Searcher(const Scenario& scenario, const SearchSpace& space, const SearchOptions& options)
      : s_(searched(scenario)),
        space_(space),
        options_(options),
        judge_(s_, options),
        found_(options.shown),
        tried_(options.tried) {}

  SearchAnswer run() {
    branches_ = make_branches(s_, space_);
    for (const Branch& branch : branches_) points_ += branch_points(space_, branch);
    in_threads([this](Scenario& s, std::size_t i) { rank(s, branches_[i]); });
    std::stable_sort(branches_.begin(), branches_.end(), [](const Branch& a, const Branch& b) {
      return a.least_seconds < b.least_seconds;
    });
    if (const std::optional<Layout> own = own_layout(s_, space_); own && !stopped()) try_own(*own);
    // The plain part first: what it finds cuts off most of the rest.
    const SearchSpace plain = plain_part(space_);
    const bool twice = combinations(plain) < combinations(space_);
    progress_.passes = twice ? 2 : 1;
    if (twice) pass(plain, 1);
    pass(space_, progress_.passes);
    return answer();
  }

 private:
  bool stopped() const { return options_.stop != nullptr && *options_.stop; }

  void pass(const SearchSpace& space, int number) {
    progress_.pass = number;
    progress_.points = 0;
    for (const Branch& branch : branches_) progress_.points += branch_points(space, branch);
    invalid_ = memory_ = done_ = 0;
    in_threads([&](Scenario& s, std::size_t i) { go_through(s, branches_[i], space); });
  }
  bool last_pass() const { return progress_.pass == progress_.passes; }

  template <class Work>
  void in_threads(const Work& work) {
    std::atomic<std::size_t> next{0};
    std::mutex failing;
    std::exception_ptr failure;
    const auto run = [&] {
      try {
        Scenario s = s_;
        for (std::size_t i = next++; i < branches_.size(); i = next++) work(s, i);
      } catch (...) {
        const std::lock_guard lock(failing);
        if (!failure) failure = std::current_exception();
        next = branches_.size();
      }
    };
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    const int threads = options_.threads > 0 ? options_.threads : static_cast<int>(cores);
    std::vector<std::jthread> helpers;
    for (int i = 1; i < threads; ++i) helpers.emplace_back(run);
    run();
    helpers.clear();  // waits
    if (failure) std::rethrow_exception(failure);
  }

  /// The layout the scenario comes with, where it is a point of the space.
  void try_own(const Layout& own) {
    Scenario s = s_;
    Candidate candidate;
    candidate.layout = own;
    if (!evaluate(s, candidate)) return;
    if (judge_.verdict(candidate.result) != Verdict::Fits) return;
    add(evaluated_, 1);
    found_.first(own);
    tried_.add(candidate, Verdict::Fits);
    found_.offer(std::move(candidate));
  }

  static SearchSpace plain_part(const SearchSpace& space) {
    SearchSpace plain = space;
    plain.schedule.resize(std::min<std::size_t>(2, space.schedule.size()));
    plain.offload.resize(1);
    plain.optimizer.resize(1);
    return plain;
  }

  /// A first bound of a branch: all of its work over all of its ranks.
  void rank(Scenario& s, Branch& branch) {
    if (stopped()) {  // nothing is known of it
      branch.least_seconds = 0;
      return;
    }
    branch.least_seconds = least_branch_seconds(s, space_, branch);
    branch.value = judge_.value_of(branch.least_seconds, branch.layout.devices);
  }

  void go_through(Scenario& s, const Branch& branch, const SearchSpace& space) {
    const double points = branch_points(space, branch);
    if (branch.least_seconds == kNone)
      add(invalid_, points);
    else if (branch.value < found_.threshold())
      look_into(s, branch, space, points);
    add(done_, points);
    if (options_.progress) report_progress();
  }

  void look_into(Scenario& s, const Branch& branch, const SearchSpace& space, double points) {
    if (stopped()) return leave(branch.value, branch.layout, points);
    BranchBounds bounds = bound_branch(s, space, branch, facts_);
    add(invalid_, points - static_cast<double>(bounds.points.size()));
    try_points(s, bounds);
  }

  void report_progress() const {
    SearchProgress progress = progress_;
    progress.done = done_;
    progress.evaluated = evaluated_;
    progress.best = found_.best();
    options_.progress(progress);
  }

  /// Neither cut off nor run. What a pass before the last leaves the last one looks at again.
  void leave(double value, const Layout& layout, double points) {
    if (!last_pass()) return;
    add(not_tried_, points);
    left_.offer(value, layout);
  }

  void try_points(Scenario& s, BranchBounds& bounds) {
    std::vector<std::pair<double, const BoundedPoint*>> order;
    for (const BoundedPoint& point : bounds.points) {
      const double value = judge_.value_of(point.bound.seconds, point.layout.devices);
      if (value >= found_.threshold()) continue;
      if (judge_.beyond_memory(point.bound.bytes)) {
        add(memory_, 1);
        if (!judge_.beyond_run(point.bound.seconds, point.layout.devices))
          note_too_large(point.bound.bytes, value, point.layout, bounds.cut_of(point));
      } else if (judge_.beyond_run(point.bound.seconds, point.layout.devices)) {
        beyond_.offer(point.bound.seconds, point.layout, bounds.cut_of(point));
      } else {
        order.emplace_back(value, &point);
      }
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [value, point] : order) try_point(s, bounds, value, *point);
  }

  void try_point(Scenario& s, BranchBounds& bounds, double value, const BoundedPoint& point) {
    if (value >= found_.threshold() || value >= found_.threshold(point.layout)) return;
    if (stopped() && !last_pass()) return;
    if (!found_.first(point.layout)) return;
    if (stopped()) return leave(value, point.layout, 1);
    Candidate candidate;
    candidate.layout = point.layout;
    candidate.stage_layers = bounds.cut_of(point);
    candidate.bound = point.bound;
    apply(candidate.layout, s);
    s.parallel.stage_layers = candidate.stage_layers;
    if (const double bytes = bounds.exact.least_bytes(s); judge_.beyond_memory(bytes)) {
      add(too_large_exactly_, 1);
      return note_too_large(bytes, value, candidate.layout, candidate.stage_layers);
    }
    if (evaluations_++ >= options_.evaluations) {
      add(not_tried_, 1);
      return left_.offer(value, point.layout);
    }
    if (!evaluate(s, candidate)) return add(refused_, 1);
    add(evaluated_, 1);
    const Verdict verdict = judge_.verdict(candidate.result);
    tried_.add(candidate, verdict);
    if (verdict == Verdict::BeyondMemory) {
      return note_too_large(fullest_bytes(candidate.result), candidate.value, candidate.layout,
                            candidate.stage_layers);
    }
    if (verdict == Verdict::BeyondRun)
      return beyond_.offer(candidate.result.step_time, candidate.layout, candidate.stage_layers);
    found_.offer(std::move(candidate));
  }

  void note_too_large(double bytes, double value, const Layout& layout,
                      const std::vector<int>& stage_layers) {
    smallest_.offer(bytes, layout, stage_layers);
    for (std::size_t i = 0; i < kMoreMemory.size(); ++i)
      if (bytes <= kMoreMemory[i] * judge_.memory_limit())
        too_large_[i].offer(value, layout, stage_layers);
  }

  /// False where the engine's side of the model refuses what the bound let through.
  bool evaluate(Scenario& s, Candidate& candidate, bool energy = false) const {
    apply(candidate.layout, s);
    s.parallel.stage_layers = candidate.stage_layers;
    PredictOptions options;
    options.threads = 1;
    options.energy = energy || judge_.wants_energy();
    try {
      candidate.result = predict(s, options).result;
    } catch (const base::Error&) {
      return false;
    }
    candidate.value = judge_.value_of(candidate.result);
    return true;
  }

  /// What was seen, run; nothing where it is refused.
  std::optional<Candidate> evaluated(Scenario& s, const Lowest::Seen& seen) const {
    Candidate candidate;
    candidate.layout = seen.layout;
    candidate.stage_layers = seen.stage_layers;
    if (!evaluate(s, candidate)) return std::nullopt;
    return candidate;
  }

  /// Of those seen the best when they are run, of at most so much memory.
  std::optional<Candidate> best_of(const Lowest& lowest, double most_bytes) const {
    std::optional<Candidate> best;
    Scenario s = s_;
    for (const Lowest::Seen& seen : lowest.seen()) {
      if (stopped() || (best && seen.value >= best->value)) break;
      std::optional<Candidate> candidate = evaluated(s, seen);
      if (!candidate || fullest_bytes(candidate->result) > most_bytes) continue;
      if (!best || better(*candidate, *best)) best = std::move(candidate);
    }
    return best;
  }

  SearchAnswer answer() {
    SearchAnswer a;
    a.best = found_.take();
    a.tried = tried_.take();
    a.counts = counts();
    if (a.counts.invalid >= points_)
      throw base::Error("plan " + s_.file,
                        "no layout of the space divides the devices, the model and the batch",
                        "other values of --vary, or batch.global a multiple of more replicas");
    const bool none = a.best.empty();
    a.proven = left_.least() >= (none ? kNone : a.best.front().value);
    if (!a.proven) a.least_left = left_.least();
    if (!a.proven && !none)
      a.gap = std::max(0.0, (a.best.front().value - left_.least()) / a.best.front().value);
    a.memory_limit = judge_.memory_limit();
    if (!stopped()) add_energy(a.best);
    if (!stopped()) add_more_memory(a);
    if (none && !stopped()) add_smallest(a);
    if (none && !stopped()) a.nearest = best_of(beyond_, judge_.memory_limit());
    a.stopped = stopped();
    return a;
  }

  SearchCounts counts() const {
    const double invalid = invalid_ + refused_, memory = memory_ + too_large_exactly_;
    SearchCounts c{points_, invalid, memory, 0, evaluated_, not_tried_};
    c.bound = points_ - invalid - memory - evaluated_ - not_tried_;
    // Branches left when the search is stopped hold layouts that an earlier pass has run.
    c.left += std::min(0.0, c.bound);
    c.bound = std::max(0.0, c.bound);
    return c;
  }

  /// Energy, and with it what electricity costs, of the answer: nobody else needs it.
  void add_energy(std::vector<Candidate>& best) const {
    if (judge_.wants_energy()) return;
    Scenario s = s_;
    for (Candidate& candidate : best) evaluate(s, candidate, true);
  }

  void add_more_memory(SearchAnswer& a) const {
    double beaten = a.best.empty() ? kNone : a.best.front().value;
    for (std::size_t i = 0; i < kMoreMemory.size(); ++i) {
      std::optional<Candidate> more =
          best_of(too_large_[i], kMoreMemory[i] * judge_.memory_limit());
      if (more && judge_.beyond_run(more->result)) more.reset();
      if (!more || more->value >= beaten) continue;
      beaten = more->value;
      a.with_more_memory.push_back(std::move(*more));
    }
  }

  /// Where nothing fits: what comes nearest to it.
  void add_smallest(SearchAnswer& a) const {
    std::optional<Candidate> smallest;
    Scenario s = s_;
    for (const Lowest::Seen& seen : smallest_.seen()) {
      if (stopped()) break;
      std::optional<Candidate> candidate = evaluated(s, seen);
      if (!candidate) continue;
      if (!smallest || fullest_bytes(candidate->result) < fullest_bytes(smallest->result))
        smallest = std::move(candidate);
    }
    if (smallest && judge_.beyond_memory(smallest->result))
      a.with_more_memory.insert(a.with_more_memory.begin(), std::move(*smallest));
  }

  static void add(std::atomic<double>& count, double more) { count.fetch_add(more); }

  const Scenario s_;
  const SearchSpace& space_;
  const SearchOptions& options_;
  const Judge judge_;
  Incumbents found_;
  TriedList tried_;
  SearchProgress progress_;  ///< of the pass: which it is and its points
  FactsCache facts_;
  std::vector<Branch> branches_;
  double points_ = 0;
  std::atomic<double> invalid_{0}, memory_{0}, done_{0};  // of the pass at hand
  std::atomic<double> too_large_exactly_{0}, refused_{0}, evaluated_{0}, not_tried_{0};
  std::atomic<std::size_t> evaluations_{0};
  static constexpr std::size_t kKept = 96;
  std::array<Lowest, kMoreMemory.size()> too_large_{Lowest(kKept), Lowest(kKept),
                                                    Lowest(kKept)};  ///< by step of memory
  Lowest smallest_{16};                                              ///< by bytes
  Lowest beyond_{kKept}, left_{1};
};

}  // namespace

SearchAnswer search(const Scenario& scenario, const SearchSpace& space,
                    const SearchOptions& options) {
  return Searcher(scenario, space, options).run();
}

}  // namespace paceline::sim
