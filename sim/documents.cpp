// SPDX-License-Identifier: Apache-2.0
#include "sim/documents.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/error.hpp"
#include "sim/lower/pass_cost.hpp"
#include "sim/lower/replicas.hpp"
#include "sim/lower/stage_work.hpp"
#include "sim/repetitions.hpp"

namespace paceline::sim {
namespace {

using models::Scenario;
using models::Window;

constexpr std::size_t kMaxPackedTasks = 10'000'000;
constexpr std::int64_t kLooked = 1024;  ///< windows that means are taken over

bool pools(const Scenario& s) { return s.parallel.context.method->traits.pooled; }

/// Windows of several steps, until there are enough.
std::vector<Window> some_windows(const Scenario& s) {
  std::vector<Window> windows;
  const std::int64_t per_step = std::min(s.batch.global, kLooked);
  constexpr std::uint64_t kSteps = 64;
  for (std::uint64_t step = 0; step < kSteps && std::ssize(windows) < kLooked; ++step) {
    std::vector<Window> more =
        models::sample_windows(*s.batch.documents, per_step, s.batch.sequence, step);
    std::move(more.begin(), more.end(), std::back_inserter(windows));
    if (!s.batch.documents->varies()) break;
  }
  return windows;
}

/// Microbatches in the order they are in the step, each its windows side by side.
std::vector<Window> packs_of(const std::vector<Window>& windows, std::int64_t micro) {
  std::vector<Window> packs;
  for (std::size_t at = 0; at + static_cast<std::size_t>(micro) <= windows.size();
       at += static_cast<std::size_t>(micro)) {
    const auto from = windows.begin() + static_cast<std::ptrdiff_t>(at);
    packs.push_back(micro == 1 ? windows[at]
                               : models::side_by_side(std::vector<Window>(from, from + micro)));
  }
  return packs;
}

/// Seconds of the attention of every kind of layer in a pack, by AttentionCore::id.
class CoreTimes {
 public:
  CoreTimes(const Scenario& s, const models::Plan& plan, const TaskGraph& graph)
      : s_(&s), context_(cost_context(s, plan, 0)) {
    used_.resize(AttentionCore::ids(s.model.kinds.size()), false);
    for (const Segment& segment : graph.segments)
      for (const AttentionUse& use : segment.attention) used_[use.core] = true;
    typical_ = of(*context_.packs);
  }
  std::vector<double> of(const std::vector<Window>& packs) const {
    std::vector<double> times(used_.size(), 0);
    for (std::size_t id = 0; id < used_.size(); ++id) {
      if (!used_[id]) continue;
      const AttentionCore core = AttentionCore::of(id);
      times[id] = core_seconds(context_, s_->model.kinds[core.kind], core, packs);
    }
    return times;
  }
  const std::vector<double>& typical() const { return typical_; }

 private:
  const Scenario* s_;
  CostContext context_;
  std::vector<bool> used_;
  std::vector<double> typical_;
};

/// A task whose time depends on the pack of a replica and microbatch.
struct PackedTask {
  TaskId task = 0;
  std::uint32_t replica = 0, microbatch = 0;
  double seconds = 0;  ///< with typical packs
};

/// How the tasks of a graph follow from the packs of a step.
class PackedGraph {
 public:
  PackedGraph(const Scenario& s, const Program& program, const UnfoldedGraph& unfolded,
              const CoreTimes& times)
      : s_(&s), unfolded_(&unfolded), times_(&times), scale_(scale_loss_factor(s)) {
    const TaskGraph& graph = unfolded.graph;
    const auto lanes = graph.lanes.size() / static_cast<std::size_t>(unfolded.replicas);
    for (TaskId t = 0; t < graph.tasks.size(); ++t) {
      const Task& task = graph.tasks[t];
      if (task.stream != Stream::Compute || graph.segments[task.segment].attention.empty() ||
          task.seconds <= 0)
        continue;
      const std::size_t rank = task.lane % lanes % program.order.size();
      const Action& action = program.order[rank][task.origin];
      const auto microbatch = static_cast<std::uint32_t>(action.microbatch);
      tasks_.push_back(
          {t, static_cast<std::uint32_t>(task.lane / lanes), microbatch, task.seconds});
      microbatches_ = std::max(microbatches_, microbatch + 1);
    }
  }

  /// Writes Task::seconds of step number `step`.
  void apply(int step, TaskGraph& graph) const {
    const std::int64_t dp = s_->parallel.dp, micro = s_->batch.micro;
    const std::vector<Window> packs =
        packs_of(models::sample_windows(*s_->batch.documents, microbatches_ * dp * micro,
                                        s_->batch.sequence, static_cast<std::uint64_t>(step)),
                 micro);
    const std::vector<std::vector<double>> cores = core_times(packs);
    for (const PackedTask& packed : tasks_) {
      const std::vector<double>& own =
          cores[packed.microbatch * static_cast<std::size_t>(unfolded_->replicas) + packed.replica];
      double seconds = packed.seconds;
      for (const AttentionUse& use : graph.segments[graph.tasks[packed.task].segment].attention)
        seconds += scale_ * use.count * (own[use.core] - times_->typical()[use.core]);
      graph.tasks[packed.task].seconds = std::max(0.0, seconds);
    }
  }

 private:
  /// By microbatch and lane of replicas. Replicas that share a lane keep step: the slowest counts.
  std::vector<std::vector<double>> core_times(const std::vector<Window>& packs) const {
    const auto dp = static_cast<std::size_t>(s_->parallel.dp);
    const auto lanes = static_cast<std::size_t>(unfolded_->replicas);
    std::vector<std::vector<double>> cores;
    cores.reserve(microbatches_ * lanes);
    for (std::size_t m = 0; m < microbatches_; ++m) {
      const auto first = packs.begin() + static_cast<std::ptrdiff_t>(m * dp);
      if (pools(*s_)) {
        const std::vector<double> all =
            times_->of(std::vector<Window>(first, first + static_cast<std::ptrdiff_t>(dp)));
        cores.insert(cores.end(), lanes, all);
        continue;
      }
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        std::vector<double> slowest;
        for (std::size_t k = lane * dp / lanes; k < (lane + 1) * dp / lanes; ++k) {
          std::vector<double> own = times_->of({*(first + static_cast<std::ptrdiff_t>(k))});
          if (slowest.empty()) slowest = own;
          for (std::size_t i = 0; i < own.size(); ++i) slowest[i] = std::max(slowest[i], own[i]);
        }
        cores.push_back(std::move(slowest));
      }
    }
    return cores;
  }

  const Scenario* s_;
  const UnfoldedGraph* unfolded_;
  const CoreTimes* times_;
  double scale_;
  std::vector<PackedTask> tasks_;
  std::uint32_t microbatches_ = 0;
};

}  // namespace

std::vector<Window> typical_packs(const Scenario& s) {
  const std::vector<Window> packs = packs_of(some_windows(s), s.batch.micro);
  const models::Mask mask{};
  std::vector<std::int64_t> areas;
  double mean = 0;
  for (const Window& pack : packs) {
    areas.push_back(models::twice_area(pack, mask));
    mean += static_cast<double>(areas.back()) / static_cast<double>(packs.size());
  }
  std::size_t best = 0;
  for (std::size_t i = 0; i < packs.size(); ++i) {
    if (std::abs(static_cast<double>(areas[i]) - mean) <
        std::abs(static_cast<double>(areas[best]) - mean))
      best = i;
  }
  const std::size_t count = pools(s) ? static_cast<std::size_t>(s.parallel.dp) : 1;
  return std::vector<Window>(count, packs.empty() ? Window{} : packs[best]);
}

DocumentShares document_shares(const Scenario& s, const models::Mask& mask) {
  DocumentShares shares{0, 0};
  const std::vector<Window> windows = some_windows(s);
  const auto whole = static_cast<double>(models::twice_area(s.batch.sequence, mask));
  for (const Window& window : windows) {
    shares.area += static_cast<double>(models::twice_area(window, mask)) / whole;
    shares.tokens +=
        static_cast<double>(models::tokens_of(window)) / static_cast<double>(s.batch.sequence);
  }
  shares.area /= static_cast<double>(windows.size());
  shares.tokens /= static_cast<double>(windows.size());
  return shares;
}

std::vector<double> packed_step_times(const Scenario& s, const models::Plan& plan,
                                      const Program& program, const TaskGraph& folded,
                                      const EngineOptions& options, const StepTime& step_time,
                                      int threads, const RepetitionsBegun& begun) {
  const int replicas = independent_replicas(s);
  if (folded.tasks.size() > kMaxPackedTasks / static_cast<std::size_t>(replicas)) {
    throw base::Error(models::where(s, "batch.documents"),
                      "a step of " + std::to_string(replicas) + " replicas has more than " +
                          std::to_string(kMaxPackedTasks) + " tasks",
                      "fewer replicas or microbatches, or no documents");
  }
  const UnfoldedGraph unfolded = unfold_replicas(folded, replicas);
  const CoreTimes times(s, plan, folded);
  const PackedGraph packed(s, program, unfolded, times);
  const int steps = s.batch.documents->varies() ? s.batch.documents->steps : 1;
  return repeated_times(
      unfolded.graph, steps, [&](int step, TaskGraph& graph) { packed.apply(step, graph); },
      options, step_time, threads, begun);
}

void take_distribution(const StepDistribution& distribution, Result& result) {
  const double mean = distribution.mean.value;
  const double ratio = mean / result.step_time;
  const double waited = mean - result.step_time;
  result.breakdown[static_cast<std::size_t>(waited > 0 ? Part::Straggler : Part::Compute)] +=
      waited;
  for (double* time : {&result.step_time, &result.step_time_low, &result.step_time_high,
                       &result.run_seconds, &result.run_device_seconds})
    *time *= ratio;
  for (double* rate : {&result.tokens_per_s, &result.samples_per_s, &result.mfu, &result.hfu})
    *rate /= ratio;
}

}  // namespace paceline::sim
