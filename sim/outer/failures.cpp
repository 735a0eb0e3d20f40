// SPDX-License-Identifier: Apache-2.0
#include "sim/outer/failures.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.hpp"

namespace paceline::sim {
namespace {

constexpr std::array<std::string_view, kDoings> kDoingNames{
    "work", "checkpoint", "lost work", "detection", "restart", "waiting", "slow"};

/// A sum of samples and of their squares.
struct Moments {
  double sum = 0, squares = 0;
  void add(double x) {
    sum += x;
    squares += x * x;
  }
  /// Mean and normal interval of it.
  Estimate mean(int runs) const {
    Estimate e;
    e.value = sum / runs;
    if (runs < 2) return e;
    const double variance = std::max(0.0, (squares - sum * sum / runs) / (runs - 1));
    const double half = 1.96 * std::sqrt(variance / runs);
    e.low = e.value - half;
    e.high = e.value + half;
    return e;
  }
};

void add_parts(const RunSample& run, RunEstimates& sums) {
  const std::array<double, kDoings> parts{run.work,    run.checkpoint, run.lost, run.detect,
                                          run.restart, run.wait,       run.slow};
  for (std::size_t i = 0; i < parts.size(); ++i) sums.doing[i] += parts[i];
  for (std::size_t i = 0; i < run.causes.size(); ++i) {
    sums.cause_seconds[i] += run.causes[i].seconds;
    sums.cause_counts[i] += run.causes[i].count;
  }
}

}  // namespace

std::string_view to_text(Doing doing) { return kDoingNames[static_cast<std::size_t>(doing)]; }

RunEstimates estimate_runs(const RunSetting& setting, int runs, std::uint64_t seed) {
  PACELINE_CHECK(runs >= 1);
  RunEstimates e;
  e.doing.resize(kDoings);
  e.cause_seconds.resize(setting.failures.size());
  e.cause_counts.resize(setting.failures.size());
  Moments goodput, wall, held;
  for (int i = 0; i < runs; ++i) {
    const RunSample run = sample_run(setting, seed + static_cast<std::uint64_t>(i));
    goodput.add(run.goodput());
    wall.add(run.wall);
    held.add(run.held);
    add_parts(run, e);
  }
  e.goodput = goodput.mean(runs);
  e.wall = wall.mean(runs);
  e.held = held.mean(runs);
  for (auto* parts : {&e.doing, &e.cause_seconds, &e.cause_counts})
    for (double& part : *parts) part /= runs;
  return e;
}

RunSample sample_run(double work, const Checkpoints& checkpoints,
                     const std::vector<FailureProcess>& failures, std::uint64_t seed,
                     bool with_spans) {
  return sample_run({.work = work, .checkpoints = checkpoints, .failures = failures}, seed,
                    with_spans);
}

Estimate expected_goodput(double work, const Checkpoints& checkpoints,
                          const std::vector<FailureProcess>& failures, int runs,
                          std::uint64_t seed) {
  return estimate_runs({.work = work, .checkpoints = checkpoints, .failures = failures}, runs, seed)
      .goodput;
}

double exact_goodput(const Checkpoints& c, const FailureProcess& f) {
  const double m = f.mtbf, r = f.detect + f.restart;
  return c.every / (m * std::exp(r / m) * std::expm1((c.every + c.blocking) / m));
}

double longest_restart(double blocking, double mtbf, double goodput) {
  const double t = daly_interval(blocking, mtbf);
  return mtbf * std::log(t / (goodput * mtbf * std::expm1((t + blocking) / mtbf)));
}

double young_interval(double blocking, double mtbf) { return std::sqrt(2 * blocking * mtbf); }

double daly_interval(double blocking, double mtbf) {
  if (blocking >= 2 * mtbf) return mtbf;
  const double x = blocking / (2 * mtbf);
  return young_interval(blocking, mtbf) * (1 + std::sqrt(x) / 3 + x / 9) - blocking;
}

}  // namespace paceline::sim
