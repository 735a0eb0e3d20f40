// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "models/parallel/plan.hpp"
#include "sim/lower/stage_work.hpp"
#include "sim/placement.hpp"
#include "sim/search/layer_costs.hpp"
#include "sim/stage_times.hpp"

/// What no order can beat, without making one.
namespace paceline::sim {

struct Bound {
  double seconds = 0;  ///< of a step
  double bytes = 0;    ///< of the fullest rank, reserved
};

/// Of a schedule, from its Program for few microbatches: what holds for more of them too.
struct OrderFacts {
  Placement placement;
  bool known = false;           ///< false: nothing is, the passes are others than F, B, W and BW
  bool split = false;           ///< backward in two halves
  bool alone = false;           ///< every stage is on one rank
  bool shares_gathers = false;  ///< Program::gather_unit
  /// By rank and stage it holds: microbatches whose activations are there and never leave the
  /// device, at the moment when there are most of them. Zeros where the order depends on the stage
  /// times.
  std::vector<std::vector<int>> stored;
  /// By rank and stage: microbatches whose activations leave the device.
  std::vector<std::vector<int>> moved;
};

/// Microbatches enough to know by what the schedule does with so many of them: all where they are
/// few.
int facts_microbatches(const models::Scenario& scenario, int microbatches);

/// Of the scenario's schedule over its pp and chunks, with `offload`; base::Error where it refuses
/// the shape. `times` are those the order is chosen by, where it depends on them; null: not known.
OrderFacts order_facts(const models::Scenario& scenario, int microbatches,
                       const StageTimes* times = nullptr);

/// What a rank holds of a stage, whatever the order.
struct StageFacts {
  double resident = 0;    ///< bytes of weights, gradients and states on the device
  double activation = 0;  ///< bytes of one microbatch
  RankParameters parameters;
  DataBytes layers;  ///< parameters of the layers alone, not of the ends
};
StageFacts stage_facts(const models::Scenario& scenario, const models::Plan& plan,
                       const models::Stage& stage);

/// Seconds that the data-parallel collectives of a layer take at least, for each microbatch: where
/// gradients or parameters are sharded (ZeRO 2 and 3) every microbatch has its own. By kind of
/// layer.
std::vector<double> layer_data_seconds(const CostContext& context);

/// Everything a bound is made of. `costs` are those of the context.
struct BoundParts {
  const CostContext* context = nullptr;
  const models::Plan* plan = nullptr;
  const LayerCosts* costs = nullptr;
  const OrderFacts* facts = nullptr;
  const std::vector<double>* data = nullptr;  ///< layer_data_seconds
  std::vector<const StageFacts*> stages;      ///< by stage of the plan
};

/// Lower bounds on what `predict` says of the scenario, from the same segments. Time: for each rank
/// the passes of all microbatches on it, after the forward of one microbatch through the stages
/// before its own and, where the backward is whole, before the backward of one through them (the
/// bubble of Huang et al. 2019, section 2.3, with stages of any length); then what of the gradients
/// is reduced after all passes, and the optimizer. Never less than a rank's data-parallel
/// collectives or the copies of its activations to the host, one after another. Where stages are
/// held by several ranks: the mean of the ranks' work. Memory: weights, gradients, states and
/// runtime, and the activations that the order stores at one moment.
Bound lower_bound(const BoundParts& parts);
/// Its memory alone.
double least_bytes(const BoundParts& parts);

/// Whether anything is known: not of given costs, an order from a file, modules, or ranks on places
/// of several kinds.
bool has_bounds(const models::Scenario& scenario);

/// The same of a scenario by itself; zeros where nothing is known. base::Error as from `predict`.
Bound lower_bound(const models::Scenario& scenario, const models::Plan& plan);

}  // namespace paceline::sim
