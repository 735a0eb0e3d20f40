// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/convergence/objective.hpp"
#include "sim/convergence/optimizer.hpp"

/// Ways of working: who computes which gradient on which weights, and what is exchanged.
namespace paceline::sim::convergence {

/// Of learning rates over steps.
struct RateSchedule {
  enum class Shape { Constant, Linear, Cosine };
  Shape shape = Shape::Constant;
  double warm_up = 0;  ///< share of the steps
  double floor = 0.1;  ///< share of the rate that is left at the end
};
/// Rate of step `number` (from 0) of `steps`.
double rate_at(const RateSchedule& schedule, double rate, std::int64_t number, std::int64_t steps);

struct Training {
  std::int64_t steps = 200;  ///< updates; of pipelines with `slots` and rounds the method decides
  int batch = 32;            ///< samples of one gradient of one worker
  RateSchedule schedule;
  double clip = 0;  ///< largest norm of a gradient; 0: any
  double rate = 0.1;
  std::uint64_t seed = 0;
  int points = 20;  ///< of the curve, besides the start
};

struct CurvePoint {
  double step = 0;   ///< updates so far
  double loss = 0;   ///< of Objective::loss, less the optimum
  double bytes = 0;  ///< sent by one worker so far
};

/// One run with one seed and rate.
struct Run {
  std::vector<CurvePoint> curve;         ///< the last one is the result
  std::optional<std::int64_t> diverged;  ///< the step at which numbers left all bounds
  bool interrupted = false;
  double exchanges = 0;  ///< times workers waited for each other's numbers
  std::vector<std::pair<std::string, double>> extra;  ///< accuracy and the method's own figures
};

using Method = std::function<Run(const Objective&, const Optimizer&, const Training&,
                                 const std::atomic<bool>& stop)>;

struct MethodKind {
  std::string_view name, summary;
  Method (*read)(base::Fields& fields);
};
std::span<const MethodKind> method_kinds();

#define PACELINE_METHOD(function, name, summary) Method function(base::Fields& fields);
#include "sim/convergence/methods/list.def"
#undef PACELINE_METHOD

Method read_method(base::Fields& fields);

/// Scales the gradient down to the norm `clip`; 0 does nothing.
void clip_norm(std::span<float> gradient, double clip);

/// Keeps the curve of a run and ends it when the loss leaves all bounds or somebody stops it.
class Watch {
 public:
  Watch(const Objective& objective, const Training& training, std::int64_t total,
        const std::atomic<bool>& stop);
  /// After update number `done` (from 1); `loss` is that of its batch. False: stop here.
  /// `weights` are called for where a point of the curve is due.
  bool after(std::int64_t done, double loss, double bytes,
             const std::function<std::vector<float>()>& weights);
  bool after(std::int64_t done, double loss, double bytes, std::span<const float> weights);
  /// The run, with the accuracy of the last weights.
  Run finish(std::int64_t done, double bytes, std::span<const float> weights);

 private:
  void add_point(std::int64_t done, double bytes, std::span<const float> weights);
  const Objective& objective_;
  const std::atomic<bool>& stop_;
  std::int64_t total_;
  int points_;
  double bound_ = 0;
  Run run_;
};

/// Each worker's samples: all of them, or an equal part of them in the order of their labels.
std::vector<std::vector<std::uint32_t>> shards(const Objective& objective, int workers,
                                               bool sorted);

}  // namespace paceline::sim::convergence
