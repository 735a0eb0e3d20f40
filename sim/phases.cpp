// SPDX-License-Identifier: Apache-2.0
#include "sim/phases.hpp"

#include <algorithm>
#include <cmath>

namespace paceline::sim {
namespace {

using models::CompressionRule;
using models::Scenario;

/// Tokens of one step of all workers.
double step_tokens(const Scenario& s) {
  return static_cast<double>(s.batch.global) * static_cast<double>(s.batch.sequence) *
         (s.outer ? s.outer->workers : 1);
}

/// First and last step of each phase: between them the same rules hold.
std::vector<models::RuleRange> phases_of(const Scenario& s) {
  const auto steps = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::ceil(s.run_tokens / step_tokens(s))));
  std::vector<std::int64_t> begins{1};
  for (const CompressionRule& rule : s.compression) {
    if (!rule.steps) continue;
    begins.push_back(rule.steps->first);
    begins.push_back(rule.steps->last + 1);
  }
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  std::vector<models::RuleRange> phases;
  for (std::size_t i = 0; i < begins.size() && begins[i] <= steps; ++i) {
    const std::int64_t end = i + 1 < begins.size() ? begins[i + 1] - 1 : steps;
    phases.push_back({begins[i], std::min(end, steps)});
  }
  return phases;
}

Scenario in_phase(const Scenario& s, std::int64_t step) {
  Scenario one = s;
  std::erase_if(one.compression, [&](const CompressionRule& rule) {
    return rule.steps && !rule.steps->holds(step);
  });
  for (CompressionRule& rule : one.compression) rule.steps.reset();
  return one;
}

double seconds_of(const Result& r) { return r.outer ? r.outer->step_seconds : r.step_time; }

}  // namespace

bool has_phases(const Scenario& s) {
  return std::any_of(s.compression.begin(), s.compression.end(),
                     [](const CompressionRule& rule) { return rule.steps.has_value(); });
}

Prediction predict_phases(const Scenario& s, const PredictOptions& options) {
  Prediction longest;
  std::int64_t most = 0;
  double run = 0, money = 0;
  std::vector<PhaseResult> phases;
  for (const models::RuleRange& range : phases_of(s)) {
    Prediction p = predict(in_phase(s, range.first), options);
    const std::int64_t steps = range.last - range.first + 1;
    const auto count = static_cast<double>(steps);
    phases.push_back({range.first, range.last, seconds_of(p.result)});
    run += count * phases.back().step_seconds;
    if (p.result.money) money += count * p.result.money->step.total();
    if (steps <= most) continue;
    most = steps;
    longest = std::move(p);
  }
  const double workers = s.outer ? s.outer->workers : 1;
  longest.result.phases = std::move(phases);
  longest.result.run_seconds = run;
  longest.result.run_device_seconds = run * s.parallel.world_size() * workers;
  if (longest.result.money) longest.result.money->run = money;
  return longest;
}

}  // namespace paceline::sim
