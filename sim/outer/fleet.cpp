// SPDX-License-Identifier: Apache-2.0
#include "sim/outer/fleet.hpp"

#include <algorithm>
#include <cmath>

#include "base/distributions.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace paceline::sim {
namespace {

/// scale (-ln U)^(1 / shape), with the scale that gives the mean.
double draw_time(base::Rng& rng, const FailureProcess& f) {
  if (f.traced) return kNever;
  const double exponential = -base::same_log(1 - rng.uniform());
  if (f.shape == 1) return f.mtbf * exponential;
  const double scale = f.mtbf / std::tgamma(1 + 1 / f.shape);
  return scale * base::same_exp(base::same_log(std::max(exponential, 1e-300)) / f.shape);
}

}  // namespace

void check_setting(const RunSetting& s) {
  const auto positive = [](const char* what, double value) {
    if (value > 0 && value < kNever) return;
    throw base::Error(what, "is not above 0", "a time, for example 3 h");
  };
  const auto not_negative = [](const char* what, double value) {
    if (value >= 0 && value < kNever) return;
    throw base::Error(what, "is negative or not finite", "a time, for example 30 s");
  };
  positive("run", s.work);
  positive("checkpoints.every", s.checkpoints.every);
  not_negative("checkpoints.blocking", s.checkpoints.blocking);
  not_negative("checkpoints.written", s.checkpoints.written);
  for (const FailureProcess& f : s.failures) {
    if (!f.traced) positive("failures.mtbf", f.mtbf);
    positive("failures.shape", f.shape);
    not_negative("failures.detect", f.detect);
    not_negative("failures.restart", f.restart);
    not_negative("failures.lasts", f.lasts);
    if (f.strike == Strike::Slow) positive("failures.pace", f.pace);
  }
}

Strikes::Strikes(const RunSetting& setting, std::uint64_t seed) : setting_(setting), rng_(seed) {
  for (const FailureProcess& f : setting.failures) next_.push_back(draw_time(rng_, f));
  find();
}

void Strikes::find() {
  earliest_ =
      static_cast<std::size_t>(std::min_element(next_.begin(), next_.end()) - next_.begin());
}

double Strikes::at() const {
  const double drawn = next_.empty() ? kNever : next_[earliest_];
  const double traced = traced_ < setting_.trace.size() ? setting_.trace[traced_].at : kNever;
  return std::min(drawn, traced);
}

Hit Strikes::take() {
  const double now = at();
  if (next_.empty() || next_[earliest_] > now) {
    const TracedFailure& t = setting_.trace[traced_++];
    return {t.process, t.part, t.lasts};
  }
  const std::size_t process = earliest_;
  const FailureProcess& f = setting_.failures[process];
  next_[process] = now + draw_time(rng_, f);
  find();
  return {process, -1, f.lasts};
}

bool Nodes::here(int node) const {
  return std::none_of(away_.begin(), away_.end(),
                      [&](const Away& a) { return a.node == node && !a.replaced; });
}

void Nodes::take(int node, double back, std::size_t process, bool unpaid) {
  away_.push_back({node, back, process, unpaid, false});
  fill();
  find_state();
}

void Nodes::fill() {
  for (Away& a : away_) {
    if (spares_ == 0) return;
    if (a.replaced) continue;
    a.replaced = true;
    --spares_;
  }
}

double Nodes::next_return() const {
  double first = kNever;
  for (const Away& a : away_) first = std::min(first, a.back);
  return first;
}

std::size_t Nodes::return_next() {
  const auto back = std::min_element(away_.begin(), away_.end(),
                                     [](const Away& a, const Away& b) { return a.back < b.back; });
  const std::size_t process = back->process;
  if (back->replaced) ++spares_;
  away_.erase(back);
  fill();
  find_state();
  return process;
}

std::vector<int> Nodes::lost() const {
  std::vector<int> nodes;
  for (const Away& a : away_)
    if (!a.replaced) nodes.push_back(a.node);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

void Nodes::find_state() {
  const std::vector<int> missing = lost();
  if (fleet_.goes_on)
    state_ = fleet_.goes_on(missing);
  else
    state_ = missing.empty() ? Degraded{} : Degraded{0, 0};
}

double Nodes::paid() const {
  if (fleet_.nodes == 0) return 1;
  const auto unpaid =
      std::count_if(away_.begin(), away_.end(), [](const Away& a) { return a.unpaid; });
  return 1 + (fleet_.spares - static_cast<double>(unpaid)) / fleet_.nodes;
}

void Stands::add(int cause, double until) {
  if (!stops_.empty() && stops_.back().cause == cause)
    stops_.back().until = std::max(stops_.back().until, until);
  else
    stops_.push_back({cause, until});
}

std::optional<Stands::Stop> Stands::first(double now, int last) const {
  const auto first =
      std::find_if(stops_.begin(), stops_.end(), [&](const Stop& s) { return s.until > now; });
  if (std::all_of(first, stops_.end(), [&](const Stop& s) { return s.cause == last; }))
    return std::nullopt;
  return *first;
}

void Came::add(std::size_t process, double done, double now) {
  ++of_[process];
  if (++all_ <= kMostFailures) return;
  const auto most = std::max_element(of_.begin(), of_.end()) - of_.begin();
  const FailureProcess& f = setting_.failures[static_cast<std::size_t>(most)];
  const std::string& where = f.where.empty() ? f.name : f.where;
  const std::string many = std::to_string(kMostFailures) + " failures";
  constexpr double kGetsOn = 0.01;  // share of the time that is work
  if (done < kGetsOn * now)
    throw base::Error(where,
                      "the job does not get on: after " + many + " " +
                          base::format_percent(done / now) + " of the time was work",
                      "a longer time between failures, or shorter checkpoints, detect and restart");
  throw base::Error(where,
                    "more than " + many + " in one run, after " +
                        base::format_percent(done / setting_.work) + " of its work",
                    "a longer time between failures, or fewer run.tokens");
}

}  // namespace paceline::sim
