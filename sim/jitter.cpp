// SPDX-License-Identifier: Apache-2.0
#include "sim/jitter.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "base/distributions.hpp"
#include "base/error.hpp"

namespace paceline::sim {
namespace {

/// Most tasks of an unfolded step, and of the copies that threads work on: some 100 bytes each.
constexpr std::size_t kMaxTasks = 10'000'000;
constexpr std::size_t kMaxCopies = 20'000'000;
constexpr std::uint64_t kTraceKeys = std::uint64_t{1} << 40;  ///< above the keys of tasks

/// Where the numbers of one thing begin: SplitMix64 mixes states that differ in any bit.
std::uint64_t stream_of(std::uint64_t seed, std::uint64_t item) {
  return base::Rng(base::Rng(seed).next() + item).next();
}

bool varies_with_links(const Task& task) {
  return task.kind == TaskKind::Message || task.kind == TaskKind::Collective ||
         task.stream == Stream::CopyIn || task.stream == Stream::CopyOut;
}
bool varies_with_compute(const Task& task) {
  return task.kind == TaskKind::Action || task.kind == TaskKind::Kernel ||
         task.kind == TaskKind::Optimizer;
}

std::vector<double> straggler_factors(const models::Jitter& jitter, const models::Plan& plan,
                                      int replicas, std::size_t lanes) {
  std::vector<double> factors(lanes * static_cast<std::size_t>(replicas), 1.0);
  for (const models::Straggler& s : jitter.stragglers) {
    double& factor = factors[lane_of_rank(plan, s.rank, replicas, lanes)];
    factor = std::max(factor, s.factor);  // a group is as slow as its slowest rank
  }
  return factors;
}

}  // namespace

JitterDraws::JitterDraws(const UnfoldedGraph& unfolded, const models::Jitter& jitter,
                         std::span<const double> stragglers)
    : jitter_(jitter), draws_(unfolded.graph.tasks.size()) {
  const TaskGraph& graph = unfolded.graph;
  const auto lanes =
      static_cast<std::uint32_t>(graph.lanes.size() / static_cast<std::size_t>(unfolded.replicas));
  std::vector<std::uint32_t> compute(graph.lanes.size(), 0), links(graph.lanes.size(), 0);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    Draw& draw = draws_[t];
    draw.seconds = task.seconds;
    draw.key = t;
    draw.lane = task.lane;
    if (varies_with_links(task)) {
      draw.law = Draw::Law::Links;
      if (task.kind == TaskKind::Collective && task.stream == Stream::Dp) {
        draw.key = t - task.lane / lanes;  // one for all replicas: copies stand side by side
        draw.lane = task.lane % lanes;
      }
      draw.place = links[task.lane]++;
    } else if (varies_with_compute(task)) {
      draw.law = Draw::Law::Compute;
      draw.seconds *= stragglers[task.lane];
      draw.place = compute[task.lane]++;
    }
  }
}

double JitterDraws::factor(const Draw& draw, const models::JitterLaw& law,
                           std::uint64_t stream) const {
  base::Rng rng(stream_of(stream, draw.key));
  double factor = 1;
  if (law.sigma > 0) factor *= base::lognormal_of_mean_one(rng, law.sigma);
  if (law.tail_probability > 0 && rng.uniform() < law.tail_probability)
    factor *= law.tail_factor * base::pareto(rng, law.tail_shape);
  if (!law.trace.empty()) {
    const std::uint64_t kind = draw.law == Draw::Law::Links ? 1 : 0;
    base::Rng begin(stream_of(stream, kTraceKeys + 2 * std::uint64_t{draw.lane} + kind));
    const std::uint64_t n = law.trace.size();
    factor *= law.trace[(begin.below(n) + draw.place) % n];
  }
  return factor;
}

void JitterDraws::apply(int repetition, TaskGraph& graph) const {
  PACELINE_CHECK(graph.tasks.size() == draws_.size());
  const std::uint64_t stream = stream_of(jitter_.seed, static_cast<std::uint64_t>(repetition));
  const bool compute = jitter_.compute.random(), links = jitter_.links.random();
  for (std::size_t t = 0; t < draws_.size(); ++t) {
    const Draw& draw = draws_[t];
    double& seconds = graph.tasks[t].seconds;
    seconds = draw.seconds;
    if (seconds <= 0) continue;
    if (draw.law == Draw::Law::Compute && compute) {
      seconds *= factor(draw, jitter_.compute, stream);
    } else if (draw.law == Draw::Law::Links && links) {
      seconds *= factor(draw, jitter_.links, stream);
    }
  }
}

std::vector<double> jittered_step_times(const models::Scenario& scenario, const models::Plan& plan,
                                        const TaskGraph& folded, const EngineOptions& options,
                                        const StepTime& step_time, int threads,
                                        const RepetitionsBegun& begun) {
  const models::Jitter& jitter = *scenario.jitter;
  const int replicas = independent_replicas(scenario);
  if (folded.tasks.size() > kMaxTasks / static_cast<std::size_t>(replicas)) {
    throw base::Error(models::where(scenario, "jitter"),
                      "a step of " + std::to_string(replicas) + " replicas has more than " +
                          std::to_string(kMaxTasks) + " tasks",
                      "fewer replicas or microbatches, or no jitter");
  }
  const UnfoldedGraph unfolded = unfold_replicas(folded, replicas);
  const JitterDraws draws(unfolded, jitter,
                          straggler_factors(jitter, plan, replicas, folded.lanes.size()));
  std::vector<double> times(static_cast<std::size_t>(jitter.repetitions), 0);
  const int count = jitter.random() ? jitter.repetitions : 1;  // else they are all the same
  std::atomic<int> next{0};
  std::mutex failing;
  std::exception_ptr failure;
  const auto work = [&](bool reports) {
    try {
      TaskGraph graph = unfolded.graph;
      Workspace workspace;
      for (int r = next++; r < count; r = next++) {
        if (reports && begun) begun(static_cast<std::size_t>(r) + 1);
        draws.apply(r, graph);
        const Timeline& timeline = run_reference(graph, workspace, options);
        times[static_cast<std::size_t>(r)] =
            step_time ? step_time(graph, timeline) : timeline.makespan;
      }
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  if (threads <= 0) threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const std::size_t copies = kMaxCopies / (unfolded.graph.tasks.size() + 1);
  threads = static_cast<int>(std::clamp<std::size_t>(copies, 1, static_cast<std::size_t>(threads)));
  std::vector<std::jthread> helpers;
  for (int i = 1; i < std::min(threads, count); ++i) helpers.emplace_back(work, false);
  work(true);
  helpers.clear();  // waits
  if (failure) std::rethrow_exception(failure);
  if (count < jitter.repetitions) std::fill(times.begin(), times.end(), times.front());
  return times;
}

}  // namespace paceline::sim
