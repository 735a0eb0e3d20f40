// SPDX-License-Identifier: Apache-2.0
#include "sim/outer/failures.hpp"

#include <algorithm>
#include <cmath>

#include "base/distributions.hpp"
#include "base/error.hpp"
#include "base/rng.hpp"

namespace paceline::sim {
namespace {

constexpr double kForever = 1e300;

void check(double work, const Checkpoints& c, const std::vector<FailureProcess>& failures) {
  const auto positive = [](const char* what, double value) {
    if (value > 0 && value < kForever) return;
    throw base::Error(what, "is not above 0", "a time, for example 3 h");
  };
  const auto not_negative = [](const char* what, double value) {
    if (value >= 0 && value < kForever) return;
    throw base::Error(what, "is negative or not finite", "a time, for example 30 s");
  };
  positive("run", work);
  positive("checkpoints.every", c.every);
  not_negative("checkpoints.blocking", c.blocking);
  not_negative("checkpoints.written", c.written);
  for (const FailureProcess& f : failures) {
    positive("failures.mtbf", f.mtbf);
    positive("failures.shape", f.shape);
    not_negative("failures.detect", f.detect);
    not_negative("failures.restart", f.restart);
  }
}

/// scale (-ln U)^(1 / shape), with the scale that gives the mean.
double draw(base::Rng& rng, const FailureProcess& f) {
  const double exponential = -base::same_log(1 - rng.uniform());
  if (f.shape == 1) return f.mtbf * exponential;
  const double scale = f.mtbf / std::tgamma(1 + 1 / f.shape);
  return scale * base::same_exp(base::same_log(std::max(exponential, 1e-300)) / f.shape);
}

class Run {
 public:
  Run(double work, const Checkpoints& c, const std::vector<FailureProcess>& failures,
      std::uint64_t seed, bool with_spans)
      : work_(work), checkpoints_(c), failures_(failures), rng_(seed), with_spans_(with_spans) {
    for (const FailureProcess& f : failures_) next_.push_back(draw(rng_, f));
  }

  RunSample go() {
    while (done_ < work_) {
      const double piece = std::min(checkpoints_.every - since_, work_ - done_);
      if (!pass(Doing::Work, piece)) continue;
      done_ += piece;
      since_ += piece;
      if (done_ >= work_ || since_ < checkpoints_.every) continue;
      if (!pass(Doing::Checkpoint, checkpoints_.blocking)) continue;
      since_ = 0;
      saved_.push_back({now_ + checkpoints_.written, done_});
    }
    sample_.wall = now_;
    sample_.work = work_;
    return std::move(sample_);
  }

 private:
  struct Saved {
    double usable, work;
  };

  /// Time passes unless a failure comes first; then the job is brought back and the answer is no.
  bool pass(Doing doing, double seconds) {
    const std::size_t which = earliest();
    const double strikes = which < next_.size() ? next_[which] : kForever;
    if (strikes >= now_ + seconds) {
      note(doing, now_ + seconds);
      return true;
    }
    note(doing, strikes);
    recover(which, doing == Doing::Work ? strikes - begin_of_piece_ : 0);
    return false;
  }

  std::size_t earliest() const {
    return static_cast<std::size_t>(std::min_element(next_.begin(), next_.end()) - next_.begin());
  }

  void note(Doing doing, double until) {
    begin_of_piece_ = now_;
    add(doing, until - now_);
    if (with_spans_ && until > now_) sample_.spans.push_back({doing, now_, until});
    now_ = until;
  }
  void add(Doing doing, double seconds) {
    switch (doing) {
      case Doing::Work:
        break;  // counted at the end: all of it, once
      case Doing::Checkpoint:
        sample_.checkpoint += seconds;
        break;
      case Doing::Lost:
        sample_.lost += seconds;
        break;
      case Doing::Detect:
        sample_.detect += seconds;
        break;
      case Doing::Restart:
        sample_.restart += seconds;
        break;
    }
  }

  /// Back to the last checkpoint that can be used. `unfinished`: work of the piece that broke.
  void recover(std::size_t which, double unfinished) {
    const double struck = now_;
    while (true) {
      if (++sample_.failures > kMostFailures) {
        throw base::Error("failures", "come faster than the job gets on",
                          "longer mtbf, or shorter checkpoints, detection and restart");
      }
      const FailureProcess& f = failures_[which];
      next_[which] = now_ + draw(rng_, f);
      if (down(Doing::Detect, f.detect, which) && down(Doing::Restart, f.restart, which)) break;
    }
    double from = 0;
    std::erase_if(saved_, [&](const Saved& s) { return s.usable > struck; });
    if (!saved_.empty()) from = saved_.back().work;
    lose(done_ - from + unfinished);
    done_ = from;
    since_ = 0;
  }
  /// Whether the time passes without another failure, which `which` then names.
  bool down(Doing doing, double seconds, std::size_t& which) {
    const std::size_t other = earliest();
    if (next_[other] >= now_ + seconds) {
      note(doing, now_ + seconds);
      return true;
    }
    note(doing, next_[other]);
    which = other;
    return false;
  }

  /// Of what was done, from the last span on back.
  void lose(double seconds) {
    sample_.lost += seconds;
    for (auto span = sample_.spans.rbegin(); span != sample_.spans.rend() && seconds > 0; ++span) {
      if (span->doing != Doing::Work) continue;
      const double length = span->end - span->begin;
      if (length <= seconds * (1 + 1e-12)) {
        span->doing = Doing::Lost;
        seconds -= length;
        continue;
      }
      const RunSpan lost{Doing::Lost, span->end - seconds, span->end};
      span->end = lost.begin;
      sample_.spans.insert(span.base(), lost);
      break;
    }
  }

  const double work_;
  const Checkpoints& checkpoints_;
  const std::vector<FailureProcess>& failures_;
  base::Rng rng_;
  const bool with_spans_;
  std::vector<double> next_;  ///< by process: when it strikes
  std::vector<Saved> saved_;
  double now_ = 0, done_ = 0;
  double since_ = 0;           ///< work since the last checkpoint
  double begin_of_piece_ = 0;  ///< when what broke or ended last had begun
  RunSample sample_;
};

}  // namespace

std::string_view to_text(Doing doing) {
  switch (doing) {
    case Doing::Work:
      return "work";
    case Doing::Checkpoint:
      return "checkpoint";
    case Doing::Lost:
      return "lost work";
    case Doing::Detect:
      return "detection";
    case Doing::Restart:
      return "restart";
  }
  return "";
}

RunSample sample_run(double work, const Checkpoints& checkpoints,
                     const std::vector<FailureProcess>& failures, std::uint64_t seed,
                     bool with_spans) {
  check(work, checkpoints, failures);
  return Run(work, checkpoints, failures, seed, with_spans).go();
}

Estimate expected_goodput(double work, const Checkpoints& checkpoints,
                          const std::vector<FailureProcess>& failures, int runs,
                          std::uint64_t seed) {
  PACELINE_CHECK(runs >= 1);
  double sum = 0, squares = 0;
  for (int i = 0; i < runs; ++i) {
    const double g =
        sample_run(work, checkpoints, failures, seed + static_cast<std::uint64_t>(i)).goodput();
    sum += g;
    squares += g * g;
  }
  Estimate e;
  e.value = sum / runs;
  if (runs < 2) return e;
  const double variance = std::max(0.0, (squares - sum * sum / runs) / (runs - 1));
  const double half = 1.96 * std::sqrt(variance / runs);
  e.low = e.value - half;
  e.high = e.value + half;
  return e;
}

double exact_goodput(const Checkpoints& c, const FailureProcess& f) {
  const double m = f.mtbf, r = f.detect + f.restart;
  return c.every / (m * std::exp(r / m) * std::expm1((c.every + c.blocking) / m));
}

double young_interval(double blocking, double mtbf) { return std::sqrt(2 * blocking * mtbf); }

double daly_interval(double blocking, double mtbf) {
  if (blocking >= 2 * mtbf) return mtbf;
  const double x = blocking / (2 * mtbf);
  return young_interval(blocking, mtbf) * (1 + std::sqrt(x) / 3 + x / 9) - blocking;
}

}  // namespace paceline::sim
