// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "sim/outer/fleet.hpp"

namespace paceline::sim {
namespace {

class Run {
 public:
  Run(const RunSetting& setting, std::uint64_t seed, bool with_spans)
      : setting_(setting),
        strikes_(setting, seed),
        nodes_(setting.fleet),
        came_(setting),
        with_spans_(with_spans) {
    sample_.causes.resize(setting.failures.size());
  }

  RunSample go() {
    const double every = setting_.checkpoints.every;
    while (true) {
      repeat_quietly();
      const double to_save = every - since_, to_end = setting_.work - done_;
      if (!advance(std::min(to_save, to_end))) continue;
      if (to_end <= to_save) break;
      since_ = every;  // whatever rounding says
      if (!pass(Doing::Checkpoint, setting_.checkpoints.blocking)) continue;
      since_ = 0;
      save(now_ + setting_.checkpoints.written);
    }
    sample_.wall = now_;
    sample_.work = setting_.work;
    return std::move(sample_);
  }

 private:
  struct Saved {
    double usable, work;
  };
  struct SlowNode {
    double until, pace;
    std::size_t process;
    int node;
  };
  enum class Event : std::uint8_t { Strike, Return, SlowEnd };
  struct Next {
    double at;
    Event event;
  };

  const FailureProcess& process(std::size_t i) const { return setting_.failures[i]; }
  bool goes_on() const { return static_cast<bool>(setting_.fleet.goes_on); }

  Next next() const {
    Next first{strikes_.at(), Event::Strike};
    if (nodes_.next_return() < first.at) first = {nodes_.next_return(), Event::Return};
    for (const SlowNode& s : slow_)
      if (s.until < first.at) first = {s.until, Event::SlowEnd};
    return first;
  }

  /// Many checkpoints at once, while nothing comes and nobody asks for spans.
  void repeat_quietly() {
    if (with_spans_ || since_ > 0 || pace_ <= 0) return;
    const Checkpoints& c = setting_.checkpoints;
    const double cycle = c.every / pace_ + c.blocking;
    // One is left for the checks of rounding further down.
    const double many =
        std::floor(std::min((next().at - now_) / cycle, (setting_.work - done_) / c.every)) - 1;
    if (many < 2) return;
    const double first = done_, begin = now_;
    note(pace_ < 1 ? Doing::Slow : Doing::Work, now_ + many * c.every / pace_);
    note(Doing::Checkpoint, now_ + many * c.blocking);
    // Those that are still being written, and the one before them.
    const double pending = std::min(many, std::ceil(c.written / cycle) + 1);
    for (double i = many - pending + 1; i <= many; ++i) {
      done_ = first + i * c.every;
      save(begin + i * cycle + c.written);
    }
  }

  /// Work of so many seconds, unless something comes first; it is then dealt with.
  bool advance(double piece) {
    if (pace_ <= 0) {
      if (const std::optional<Hit> hit = wait_for_nodes()) stop(*hit);
      return false;
    }
    const double ends = now_ + piece / pace_;
    const Next n = next();
    const Doing doing = pace_ < 1 ? Doing::Slow : Doing::Work;
    if (n.at >= ends) {
      note(doing, ends);
      done_ += piece;
      since_ += piece;
      return true;
    }
    const double did = std::max(0.0, n.at - now_) * pace_;
    note(doing, n.at);
    done_ += did;
    since_ += did;
    happen(n);
    return false;
  }

  /// What comes while the job works.
  void happen(const Next& n) {
    if (n.event == Event::Return && goes_on()) {
      const double before = nodes_.state().regroup;  // what went there must come back
      cause_ = static_cast<int>(nodes_.return_next());
      find_pace();
      pass(Doing::Restart, std::max(before, nodes_.state().regroup));
      return;
    }
    waits_ = 0;  // of what came while the job stood
    if (const std::optional<Hit> hit = quiet(n)) return stop(*hit);
    if (waits_ <= 0) return;
    cause_ = waits_for_;
    pass(Doing::Wait, std::exchange(waits_, 0));
  }

  /// What comes is taken note of; a stop is answered.
  std::optional<Hit> quiet(const Next& n) {
    std::optional<Hit> stops;
    switch (n.event) {
      case Event::Return:
        nodes_.return_next();
        break;
      case Event::SlowEnd:
        stops = end_slow();
        break;
      case Event::Strike: {
        Hit hit = strikes_.take();
        came_.add(hit.process, done_, now_);
        if (!place(hit)) break;
        if (process(hit.process).strike == Strike::Stop)
          stops = hit;
        else
          weaken(hit);
        break;
      }
    }
    find_pace();
    return stops;
  }

  /// Finds out which node or site it is; false: it is away already, or no part of the job.
  bool place(Hit& hit) {
    const Fleet& fleet = setting_.fleet;
    const FailureProcess& f = process(hit.process);
    if (fleet.nodes == 0 || f.takes == Takes::Nothing) return true;
    const auto parts =
        f.takes == Takes::Node ? static_cast<std::size_t>(fleet.nodes) : fleet.sites.size();
    if (hit.part < 0) hit.part = static_cast<int>(strikes_.rng().below(parts));
    if (hit.part >= static_cast<int>(parts)) return false;
    if (f.strike == Strike::Slow && is_slow(hit.part)) return false;
    if (f.takes == Takes::Node) return nodes_.here(hit.part);
    const std::vector<int>& site = fleet.sites[static_cast<std::size_t>(hit.part)];
    return std::any_of(site.begin(), site.end(), [&](int node) { return nodes_.here(node); });
  }

  bool is_slow(int node) const {
    return std::any_of(slow_.begin(), slow_.end(),
                       [&](const SlowNode& s) { return s.node == node; });
  }

  /// The job stays whole: a link is down for a moment, a node slow for a while. While the job
  /// stands anyway, the link costs nothing more.
  void weaken(const Hit& hit) {
    const FailureProcess& f = process(hit.process);
    count(hit);
    if (f.strike == Strike::Wait) {
      waits_ = hit.lasts;
      waits_for_ = static_cast<int>(hit.process);
      return;
    }
    slow_.push_back({now_ + hit.lasts, f.pace, hit.process, hit.part});
  }

  std::optional<Hit> end_slow() {
    const auto ends =
        std::min_element(slow_.begin(), slow_.end(),
                         [](const SlowNode& a, const SlowNode& b) { return a.until < b.until; });
    const SlowNode ended = *ends;
    slow_.erase(ends);
    const FailureProcess& f = process(ended.process);
    if (!f.taken_out) return std::nullopt;
    Hit out{f.process_after, ended.node, process(f.process_after).lasts};
    return place(out) ? std::optional<Hit>(out) : std::nullopt;
  }

  void count(const Hit& hit) {
    ++sample_.causes[hit.process].count;
    ++sample_.failures;
  }

  /// Time passes while the job stands, unless a stop comes first: then the job is brought back and
  /// the answer is no.
  bool pass(Doing doing, double seconds) {
    if (const std::optional<Hit> hit = down(doing, seconds)) {
      stop(*hit);
      return false;
    }
    return true;
  }
  std::optional<Hit> down(Doing doing, double seconds) {
    const double ends = now_ + seconds;
    while (true) {
      const Next n = next();
      if (n.at >= ends) break;
      note(doing, n.at);
      if (const std::optional<Hit> hit = quiet(n)) return hit;
    }
    note(doing, ends);
    return std::nullopt;
  }

  /// Until there are enough nodes to go on.
  std::optional<Hit> wait_for_nodes() {
    while (nodes_.state().pace <= 0) {
      const Next n = next();
      note(Doing::Wait, n.at);
      if (const std::optional<Hit> hit = quiet(n)) return hit;
    }
    find_pace();
    return std::nullopt;
  }

  /// A stop, and those that come until the job goes on.
  void stop(Hit hit) {
    Stopped s{now_, static_cast<int>(hit.process)};
    while (const std::optional<Hit> again = bring_back(hit, s)) hit = *again;
    stands_.clear();
    find_pace();
    cause_ = s.cause;
    if (s.rolls)
      roll_back(s.struck);
    else if (!s.warned)
      lose_step();
  }
  struct Stopped {
    double struck;
    int cause;  ///< of the loss: the first, or the first that rolls back
    bool rolls = false, warned = true, saved = false;
  };

  std::optional<Hit> bring_back(const Hit& hit, Stopped& s) {
    const FailureProcess& f = process(hit.process);
    count(hit);
    cause_ = static_cast<int>(hit.process);
    take(hit, f);
    const bool rolls = f.takes == Takes::Nothing || !goes_on() || nodes_.state().pace <= 0;
    if (rolls && !s.rolls) s.cause = cause_;
    s.rolls = s.rolls || rolls;
    const double back = nodes_.state().pace <= 0 && f.takes != Takes::Nothing ? hit.lasts : 0;
    const double returns = now_ + back;
    s.warned = s.warned && f.warned;
    if (s.rolls && s.warned && !s.saved) {
      if (const auto again = save_in_notice(f, s)) return again;
    }
    stands_.add(cause_, std::max(returns, now_ + (f.warned ? 0 : f.detect)) +
                            (s.rolls ? f.restart : nodes_.state().regroup));
    if (!f.warned) {
      if (const auto again = down(Doing::Detect, f.detect)) return again;
    }
    if (const auto again = wait_for_nodes()) return again;
    return down(Doing::Restart, s.rolls ? f.restart : nodes_.state().regroup);
  }

  void take(const Hit& hit, const FailureProcess& f) {
    if (setting_.fleet.nodes == 0 || f.takes == Takes::Nothing) return;
    const auto one = [&](int node) {
      if (nodes_.here(node)) nodes_.take(node, now_ + hit.lasts, hit.process, f.unpaid);
    };
    if (f.takes == Takes::Node) return one(hit.part);
    for (const int node : setting_.fleet.sites[static_cast<std::size_t>(hit.part)]) one(node);
  }

  std::optional<Hit> save_in_notice(const FailureProcess& f, Stopped& s) {
    const double seconds = setting_.checkpoints.blocking + setting_.checkpoints.written;
    if (seconds > f.notice) return std::nullopt;
    if (const auto again = down(Doing::Checkpoint, seconds)) return again;
    save(now_);
    s.struck = now_;
    s.saved = true;
    return std::nullopt;
  }

  void save(double usable) {
    saved_.push_back({usable, done_});
    while (saved_.size() > 1 && saved_[1].usable <= now_) saved_.erase(saved_.begin());
  }

  void roll_back(double struck) {
    std::erase_if(saved_, [&](const Saved& s) { return s.usable > struck; });
    const double from = saved_.empty() ? 0 : saved_.back().work;
    lose(done_ - from);
    done_ = from;
    since_ = 0;
  }
  void lose_step() {
    if (setting_.fleet.step <= 0) return;
    const double unfinished = std::min(std::fmod(done_, setting_.fleet.step), since_);
    lose(unfinished);
    done_ -= unfinished;
    since_ -= unfinished;
  }

  void find_pace() {
    pace_ = nodes_.state().pace;
    double slowest = 1;
    for (const SlowNode& s : slow_) slowest = std::min(slowest, s.pace);
    pace_ *= slowest;
  }

  int slow_cause() const {
    return slow_.empty() ? nodes_.cause() : static_cast<int>(slow_.front().process);
  }

  /// Of the time that the job stands, each stop has what the ones before it leave.
  void note(Doing doing, double until) {
    const bool stands = doing == Doing::Detect || doing == Doing::Restart || doing == Doing::Wait;
    const int last = cause_;
    while (stands && now_ < until) {
      const std::optional<Stands::Stop> first = stands_.first(now_, last);
      if (!first) break;
      cause_ = first->cause;
      note_one(doing, std::min(until, first->until));
    }
    cause_ = last;
    note_one(doing, until);
  }
  void note_one(Doing doing, double until) {
    const double seconds = std::max(0.0, until - now_);
    const bool works = doing == Doing::Work || doing == Doing::Slow;
    const int cause = doing == Doing::Slow ? slow_cause() : works ? -1 : cause_;
    add(doing, seconds, doing == Doing::Checkpoint ? -1 : cause);
    sample_.held += seconds * nodes_.paid();
    if (with_spans_ && seconds > 0)
      sample_.spans.push_back({doing, now_, now_ + seconds, cause, works ? pace_ : 0});
    now_ = std::max(now_, until);
  }
  void add(Doing doing, double seconds, int cause) {
    double* const parts[kDoings] = {nullptr,         &sample_.checkpoint, &sample_.lost,
                                    &sample_.detect, &sample_.restart,    &sample_.wait,
                                    &sample_.slow};
    if (doing == Doing::Work) return;  // counted at the end: all of it, once
    if (doing == Doing::Slow) seconds *= 1 - pace_;
    *parts[static_cast<std::size_t>(doing)] += seconds;
    if (cause >= 0) sample_.causes[static_cast<std::size_t>(cause)].seconds += seconds;
  }

  /// Of what was done, from the last span on back.
  void lose(double work) {
    sample_.lost += work;
    sample_.causes[static_cast<std::size_t>(cause_)].seconds += work;
    std::vector<RunSpan>& spans = sample_.spans;
    for (std::size_t i = spans.size(); i > 0 && work > 0; --i) {
      RunSpan& span = spans[i - 1];
      if (span.doing != Doing::Work && span.doing != Doing::Slow) continue;
      const double did = (span.end - span.begin) * span.pace;
      if (did <= work * (1 + 1e-12)) {
        span.doing = Doing::Lost;
        span.cause = cause_;
        work -= did;
        continue;
      }
      const RunSpan lost{Doing::Lost, span.end - work / span.pace, span.end, cause_, span.pace};
      span.end = lost.begin;
      spans.insert(spans.begin() + static_cast<std::ptrdiff_t>(i), lost);
      return;
    }
  }

  const RunSetting& setting_;
  Strikes strikes_;
  Nodes nodes_;
  Came came_;
  const bool with_spans_;
  std::vector<Saved> saved_;
  std::vector<SlowNode> slow_;
  double now_ = 0, done_ = 0;
  double since_ = 0;  ///< work since the last checkpoint
  double pace_ = 1;   ///< work a second
  double waits_ = 0;  ///< s the job must wait for what has just come
  int waits_for_ = -1;
  Stands stands_;   ///< of the stop at hand
  int cause_ = -1;  ///< process that the job stands for
  RunSample sample_;
};

}  // namespace

RunSample sample_run(const RunSetting& setting, std::uint64_t seed, bool with_spans) {
  check_setting(setting);
  return Run(setting, seed, with_spans).go();
}

}  // namespace paceline::sim
