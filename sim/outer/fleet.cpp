// SPDX-License-Identifier: Apache-2.0
#include "sim/outer/fleet.hpp"

#include <algorithm>
#include <cmath>

#include "base/distributions.hpp"

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

}  // namespace paceline::sim
