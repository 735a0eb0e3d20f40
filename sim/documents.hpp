// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "models/parallel/plan.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/engine/reference.hpp"
#include "sim/jitter.hpp"
#include "sim/program.hpp"

/// Steps whose microbatches hold different documents (`batch.documents`): attention takes as long
/// as their masks are large, all else as always.
///
/// The graph is that of typical packs. For every sampled step each action, or layer where layers
/// are tasks, gets the seconds of its own pack's attention in place of the typical one's. Replicas
/// of data parallelism have packs of their own: microbatch m of replica k of n is made of the
/// windows (m n + k) micro, ... of the step. The ranks of one replica keep step.
namespace paceline::sim {

/// The packs that stand for all: of the first windows sampled those with the area next to the mean.
/// One, or as many as replicas where the method pools them.
std::vector<models::Window> typical_packs(const models::Scenario& scenario);

/// Mean over sampled windows of the mask's area as a share of what one document of the window's
/// length has, and of the tokens that are not padding.
struct DocumentShares {
  double area = 1, tokens = 1;
};
DocumentShares document_shares(const models::Scenario& scenario, const models::Mask& mask);

/// Step times of all sampled steps, in their order, on `threads` threads (0: one per processor);
/// the same whatever their number.
std::vector<double> packed_step_times(const models::Scenario& scenario, const models::Plan& plan,
                                      const Program& program, const TaskGraph& graph,
                                      const EngineOptions& options, const StepTime& step_time = {},
                                      int threads = 0, const RepetitionsBegun& begun = {});

/// The mean over the sampled steps becomes the step time; what it exceeds the step of typical packs
/// by was waited for the slower of several replicas and microbatches.
void take_distribution(const StepDistribution& distribution, Result& result);

}  // namespace paceline::sim
