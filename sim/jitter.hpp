// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/scenario/jitter.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/replicas.hpp"
#include "sim/result.hpp"

/// Steps whose tasks take longer or shorter than expected: each task's time is multiplied by
///
///   exp(sigma z - sigma^2 / 2)                  lognormal, mean 1
///   x factor U^(-1/shape) with probability p    heavy tail, raises the mean to
///                                               1 + p (factor shape / (shape - 1) - 1)
///   x trace[...]                                the next measured factor, raises or lowers it
///   x the factor of the rank, where it is a straggler (compute only)
///
/// under the law `compute` for actions, kernels and optimizer steps and `links` for messages,
/// collectives and copies; host time does not vary. An action is one draw, the collectives inside
/// it included. A data-parallel collective is one draw for all its ranks. A trace is begun at a
/// random place for every lane and repetition, taken in the order of the lane's tasks, and begun
/// again at its end.
namespace paceline::sim {

/// The times of one graph from repetition to repetition. Every factor is a function of (seed,
/// repetition, task) alone, whoever asks for it and when.
class JitterDraws {
 public:
  /// `stragglers`: factor of each lane's compute. Keeps references to none of them.
  JitterDraws(const UnfoldedGraph& unfolded, const models::Jitter& jitter,
              std::span<const double> stragglers);

  /// Writes Task::seconds of all tasks; `graph` is a copy of the one it was made for.
  void apply(int repetition, TaskGraph& graph) const;

 private:
  struct Draw {
    double seconds = 0;       ///< straggler included
    std::uint64_t key = 0;    ///< tasks with the same key share their factor
    std::uint32_t place = 0;  ///< in the order of the lane's tasks under this law
    std::uint32_t lane = 0;
    enum class Law : std::uint8_t { None, Compute, Links } law = Law::None;
  };
  double factor(const Draw& draw, const models::JitterLaw& law, std::uint64_t stream) const;

  models::Jitter jitter_;
  std::vector<Draw> draws_;  ///< by task
};

/// What a step takes by the timeline of an unfolded graph.
using StepTime = std::function<double(const TaskGraph& graph, const Timeline& timeline)>;

/// Told from time to time how many repetitions have begun, on the thread that asked for them.
using RepetitionsBegun = std::function<void(std::size_t count)>;

/// Step times of all repetitions, in their order, on `threads` threads (0: one per processor); the
/// same whatever their number. `step_time` empty: the makespan.
std::vector<double> jittered_step_times(const models::Scenario& scenario, const models::Plan& plan,
                                        const TaskGraph& graph, const EngineOptions& options,
                                        const StepTime& step_time = {}, int threads = 0,
                                        const RepetitionsBegun& begun = {});

/// Mean and percentiles, each with a 95 % confidence interval; `times` in any order, at least one.
/// A percentile q is the smallest time that a share q of the sample does not exceed.
StepDistribution distribution_of(std::span<const double> times, std::uint64_t seed);

}  // namespace paceline::sim
