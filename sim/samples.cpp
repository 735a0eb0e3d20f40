// SPDX-License-Identifier: Apache-2.0
#include "sim/samples.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.hpp"
#include "base/text.hpp"
#include "models/scenario/context.hpp"
#include "sim/lower/stage_times.hpp"
#include "sim/measure.hpp"
#include "sim/repetitions.hpp"

namespace paceline::sim {
namespace {

using models::Scenario;

constexpr std::size_t kMaxBounds = 64;         ///< tried
constexpr std::int64_t kMaxSamples = 100'000;  ///< of a step

/// Times of samples by length and degree, each worked out once.
class SampleCosts {
 public:
  explicit SampleCosts(const Scenario& s) : s_(&s) {}

  double operator()(std::int64_t tokens, int ranks) {
    const models::Parallel& p = s_->parallel;
    const std::int64_t piece =
        std::int64_t{std::max(1, p.context.order->pieces)} * s_->batch.samples->degrees.back();
    const std::int64_t padded = (tokens + piece - 1) / piece * piece;
    // No more tokens a rank than the step whose memory is known.
    if (padded * p.cp > s_->batch.sequence * ranks) return 0;
    const auto [at, fresh] = seconds_.try_emplace({padded, ranks}, 0.0);
    if (fresh) at->second = evaluate(padded, ranks);
    return at->second;
  }

 private:
  double evaluate(std::int64_t tokens, int ranks) const {
    Scenario one = *s_;
    const int pool = one.parallel.cp * one.parallel.dp;
    one.batch.samples.reset();
    one.batch.sequence = tokens;
    one.parallel.cp = ranks;
    one.parallel.dp = pool / ranks;
    one.parallel.shard = 0;
    one.batch.global = one.parallel.dp;
    if (one.parallel.context.method->traits.inner) one.parallel.context.inner = 0;
    models::place_context(one);
    const StageTimes times = stage_times(one, models::make_plan(one));
    double sum = 0;
    for (const StageTime& t : times.stages)
      sum += t.forward.value + t.input_gradient.value + t.weight_gradient.value;
    return sum;
  }

  const Scenario* s_;
  std::map<std::pair<std::int64_t, int>, double> seconds_;
};

/// The smallest degree that meets the bound, or the fastest where none does.
int degree_for(std::int64_t tokens, const std::vector<int>& degrees, const SampleTime& time,
               double bound) {
  int fastest = 0;
  double least = 0;
  for (const int degree : degrees) {
    const double seconds = time(tokens, degree);
    if (seconds <= 0) continue;
    if (seconds <= bound) return degree;
    if (fastest != 0 && seconds >= least) continue;
    fastest = degree;
    least = seconds;
  }
  PACELINE_CHECK(fastest > 0);
  return fastest;
}

/// When each rank is free, as samples are placed.
class FreeRanks {
 public:
  explicit FreeRanks(int ranks) : free_(static_cast<std::size_t>(ranks), 0) {}
  /// Where the sample can begin first, of ranks k * its own.
  void place(PlacedSample& sample) {
    double best = 0;
    for (int first = 0; first < static_cast<int>(free_.size()); first += sample.ranks) {
      const double begin = begins(first, sample.ranks);
      if (first > 0 && begin >= best) continue;
      best = begin;
      sample.first = first;
    }
    take(sample);
  }
  void take(const PlacedSample& sample) {
    const double end = begins(sample.first, sample.ranks) + sample.seconds;
    std::fill_n(free_.begin() + sample.first, sample.ranks, end);
    last_ = std::max(last_, end);
  }
  double last() const { return last_; }

 private:
  double begins(int first, int ranks) const {
    return *std::max_element(free_.begin() + first, free_.begin() + first + ranks);
  }
  std::vector<double> free_;
  double last_ = 0;
};

/// Bounds to try: every time a sample can take, thinned out.
std::vector<double> bounds_of(const std::vector<std::int64_t>& tokens,
                              const std::vector<int>& degrees, const SampleTime& time) {
  std::vector<double> bounds;
  for (const std::int64_t length : tokens)
    for (const int degree : degrees)
      if (const double seconds = time(length, degree); seconds > 0) bounds.push_back(seconds);
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  if (bounds.size() <= kMaxBounds) return bounds;
  std::vector<double> some;
  for (std::size_t i = 0; i < kMaxBounds; ++i)
    some.push_back(bounds[i * (bounds.size() - 1) / (kMaxBounds - 1)]);
  return some;
}

/// What sampled steps come to, per step.
struct SampledSteps {
  std::vector<double> seconds;
  double tokens = 0, flops = 0;
  double makespan = 0, busy = 0;  ///< of the samples; of a mean rank
};

SampledSteps sample_steps(const Scenario& s, double tail) {
  const models::Samples& samples = *s.batch.samples;
  const int ranks = s.parallel.cp * s.parallel.dp;
  const int steps = samples.lengths.varies() ? samples.lengths.steps : 1;
  SampleCosts costs(s);
  const SampleTime time = [&](std::int64_t tokens, int degree) { return costs(tokens, degree); };
  std::map<std::int64_t, double> flops;
  SampledSteps sampled;
  for (int step = 0; step < steps; ++step) {
    const std::vector<std::int64_t> tokens =
        models::sample_lengths(samples.lengths, s.batch.global, static_cast<std::uint64_t>(step));
    const std::vector<PlacedSample> placed = place_samples(tokens, ranks, samples.degrees, time);
    const double makespan = run_reference(sample_graph(placed, ranks)).makespan;
    sampled.seconds.push_back(makespan + tail);
    sampled.makespan += makespan / steps;
    for (const PlacedSample& p : placed) sampled.busy += p.seconds * p.ranks / ranks / steps;
    for (const std::int64_t length : tokens) {
      const auto [at, fresh] = flops.try_emplace(length, 0.0);
      if (fresh) {
        Scenario one = s;
        one.batch.sequence = length;
        one.batch.global = 1;
        at->second = model_flops(one);
      }
      sampled.tokens += static_cast<double>(length) / steps;
      sampled.flops += at->second / steps;
    }
  }
  return sampled;
}

/// From the last action to the end of the step.
double tail_of(const Prediction& p) {
  double last = 0;
  for (TaskId t = 0; t < p.graph.tasks.size(); ++t)
    if (p.graph.tasks[t].kind == TaskKind::Action) last = std::max(last, p.timeline.finish[t]);
  return p.timeline.makespan - last;
}

/// Parts of the end of a step stay; those of actions shrink with what ranks are busy.
void take_breakdown(const SampledSteps& sampled, double mean, double tail, Result& result) {
  const double base =
      result.step_time - tail - result.breakdown[static_cast<std::size_t>(Part::Bubble)];
  const double share = base > 0 ? std::min(1.0, sampled.busy / base) : 0;
  double others = 0;
  for (std::size_t i = 0; i < result.breakdown.size(); ++i) {
    const Part part = static_cast<Part>(i);
    if (part == Part::Compute || part == Part::Bubble) continue;
    if (part != Part::Optimizer && part != Part::ExposedDp && part != Part::Codec &&
        part != Part::Offload)
      result.breakdown[i] *= share;
    others += result.breakdown[i];
  }
  const double idle = std::max(0.0, sampled.makespan - sampled.busy);
  result.breakdown[static_cast<std::size_t>(Part::Bubble)] = idle;
  result.breakdown[static_cast<std::size_t>(Part::Compute)] = mean - idle - others;
}

}  // namespace

std::vector<PlacedSample> place_samples(const std::vector<std::int64_t>& tokens, int ranks,
                                        const std::vector<int>& degrees, const SampleTime& time) {
  if (degrees.size() == 1) {
    std::vector<PlacedSample> placed;
    const int groups = ranks / degrees.front();
    for (std::size_t i = 0; i < tokens.size(); ++i)
      placed.push_back({static_cast<int>(i % static_cast<std::size_t>(groups)) * degrees.front(),
                        degrees.front(), time(tokens[i], degrees.front())});
    return placed;
  }
  std::vector<PlacedSample> best;
  double best_end = 0;
  for (const double bound : bounds_of(tokens, degrees, time)) {
    std::vector<PlacedSample> placed;
    for (const std::int64_t length : tokens) {
      const int degree = degree_for(length, degrees, time, bound);
      placed.push_back({0, degree, time(length, degree)});
    }
    std::stable_sort(placed.begin(), placed.end(),
                     [](const PlacedSample& a, const PlacedSample& b) {
                       return a.ranks != b.ranks ? a.ranks > b.ranks : a.seconds > b.seconds;
                     });
    FreeRanks free(ranks);
    for (PlacedSample& sample : placed) free.place(sample);
    if (!best.empty() && free.last() >= best_end) continue;
    best = std::move(placed);
    best_end = free.last();
  }
  return best;
}

TaskGraph sample_graph(const std::vector<PlacedSample>& placed, int ranks) {
  TaskGraph graph;
  graph.lanes.resize(static_cast<std::size_t>(ranks));
  graph.segments.resize(1);
  std::vector<TaskId> last(static_cast<std::size_t>(ranks), kNoTask);
  std::vector<TaskId> before;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const auto first = static_cast<std::size_t>(placed[i].first);
    const auto own = static_cast<std::size_t>(placed[i].ranks);
    before.clear();
    for (std::size_t r = first; r < first + own; ++r)
      if (last[r] != kNoTask) before.push_back(last[r]);
    std::sort(before.begin(), before.end());
    before.erase(std::unique(before.begin(), before.end()), before.end());
    for (std::size_t r = first; r < first + own; ++r) {
      Task task;
      task.seconds = placed[i].seconds;
      task.lane = static_cast<std::uint32_t>(r);
      task.origin = static_cast<std::uint32_t>(i);
      last[r] = graph.add(task, before);
    }
  }
  return graph;
}

void take_samples(const Scenario& s, Prediction& p) {
  if (s.batch.global > kMaxSamples)
    throw base::Error(models::where(s, "batch.global"),
                      std::to_string(s.batch.global) + " samples of different lengths",
                      std::to_string(kMaxSamples) + " at most");
  Result& result = p.result;
  const double tail = tail_of(p);
  const SampledSteps sampled = sample_steps(s, tail);
  result.distribution = distribution_of(sampled.seconds, s.batch.samples->lengths.seed);
  const double mean = result.distribution->mean.value;
  take_breakdown(sampled, mean, tail, result);
  const double ratio = mean / result.step_time;
  const double peak = result.model_flops / (result.mfu * result.step_time);
  const double executed = result.hfu / result.mfu;
  for (double* time : {&result.step_time_low, &result.step_time_high}) *time *= ratio;
  result.step_time = mean;
  result.samples_per_s = static_cast<double>(s.batch.global) / mean;
  result.tokens_per_s = sampled.tokens / mean;
  if (result.run_tokens > 0) {
    result.run_seconds = result.run_tokens / result.tokens_per_s;
    result.run_device_seconds = result.run_seconds * models::used_devices(s);
  }
  result.model_flops = sampled.flops;
  result.mfu = sampled.flops / (peak * mean);
  result.hfu = result.mfu * executed;
  result.bubble_makespan = result.bubble_longest_stage =
      std::max(0.0, 1 - sampled.busy / sampled.makespan);
  result.assumptions.push_back(
      "samples hold " +
      base::format_fixed(
          100 * sampled.tokens /
              (static_cast<double>(s.batch.global) * static_cast<double>(s.batch.sequence)),
          1) +
      " % of the tokens of as many of batch.sequence; memory and traffic are those of a step of "
      "the longest, on cp ranks each; energy has their share of its work");
}

}  // namespace paceline::sim
