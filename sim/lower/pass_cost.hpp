// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "models/cost/kernel.hpp"
#include "models/parallel/plan.hpp"
#include "sim/lower/pass_role.hpp"
#include "sim/task_graph.hpp"

/// Segments: what happens inside an action, evaluated once per (stage, pass, shape).
namespace paceline::sim {

/// Everything a list of operations needs to become seconds on one lane.
struct CostContext {
  const models::Scenario* scenario = nullptr;
  const models::Plan* plan = nullptr;
  models::KernelModel kernels;
  models::CollectiveGroup tp, cp;
  models::CollectiveGroup cp_inner, cp_outer;  ///< parts of cp
  models::DataGroups data;                     ///< ranks that hold the same parameters
  models::ExpertGroups experts;
  /// Tokens of a rank's experts over their equal share: mean, and of the rank all others wait for.
  double expert_load = 1, expert_load_slowest = 1;
  const models::NcclRelease* nccl = nullptr;
  double overlap_slowdown = 1;  ///< of kernels beside communication
  /// The documents passes are costed with (LayerShape::packs); null without.
  std::shared_ptr<const std::vector<models::Window>> packs;
  /// Whose collectives are timed, where codecs hold for some; null: of no layer.
  const models::Layer* layer = nullptr;
  bool keep_inner = false;   ///< record the pieces of passes
  bool each_kernel = false;  ///< with keep_inner: a piece for every kernel
  bool pairs = false;        ///< passes are paired (pair_cost.hpp): their pieces stay
};
CostContext cost_context(const models::Scenario& scenario, const models::Plan& plan,
                         int first_device);

/// A piece of a pass: kernels up to the next collective (or one kernel), a collective, or host
/// time.
struct InnerTask {
  Stream stream = Stream::Compute;
  Part part = Part::Compute;
  std::string_view name;
  double seconds = 0;
  double start = 0, finish = 0;     ///< with nothing in its way, from the start of the pass
  std::vector<std::uint32_t> deps;  ///< pieces of the pass
  models::GroupAxis axis = models::GroupAxis::Tp;  ///< of a collective
  // Of a collective:
  models::CollectiveOp op = models::CollectiveOp::AllReduce;
  models::CollectiveAlgorithm algorithm = models::CollectiveAlgorithm::Ring;
  double size = 0;   ///< bytes, as collective_time counts
  double fluid = 0;  ///< seconds of it that depend on the size
  double sent = 0;   ///< bytes per rank
  /// Of a kernel that stands alone (CostContext::each_kernel).
  std::shared_ptr<const models::Op> kernel;
};

struct PassCost {
  double seconds = 0;
  PartSeconds parts{};  ///< adds up to seconds
  std::array<double, kStreams> bytes{};
  double flops = 0;
  double host = 0;                      ///< what the host takes to issue it, hidden or not
  double matrix_seconds = 0;            ///< of the compute part, kernels that multiply matrices
  std::vector<InnerTask> inner;         ///< in order; only with CostContext::keep_inner
  std::vector<AttentionUse> attention;  ///< only with CostContext::packs
  PassCost& operator+=(const PassCost& other);
};

/// What a lane says when it waits for a collective of the stream.
Part exposed_part(Stream stream);

/// Of a collective: who takes part, its time, and what the stack makes of that.
const models::CollectiveGroup& group_of(const CostContext& context, const models::Op& op);
models::CollectiveChoice choice_of(const CostContext& context, const models::Op& op);
double collective_factor(const CostContext& context, const models::Op& op);

/// The inner task graph of a list: kernels one after another on the compute stream, collectives on
/// their own, waited for at once or after the operations they run beside.
TaskGraph inner_graph(const CostContext& context, const std::vector<models::Op>& ops);

/// Runs the inner graph (a plain sum where nothing overlaps).
PassCost evaluate(const CostContext& context, const std::vector<models::Op>& ops);

/// Adds time at the end of a pass.
void add_tail(PassCost& cost, Part part, double seconds);

/// Of the sequence of a microbatch, as shares of its length. Later slices attend to more tokens.
struct Slice {
  double begin = 0, end = 1;
  double share() const { return end - begin; }
};

/// One layer, per microbatch or slice of one. Host time is included as the stack launches: added
/// when launches block, a floor otherwise. What is recomputed stands before the backward, or before
/// the input gradient where the backward is split.
PassCost layer_cost(const CostContext& context, const models::Layer& layer, bool recomputed,
                    Role role, const Slice& slice = {});

/// The attention of one kind of layer in one role.
struct AttentionCore {
  std::size_t kind = 0;  ///< of Model::kinds
  Role role = Role::Forward;
  bool recomputed = false;
  std::size_t id() const { return (2 * kind + (recomputed ? 1 : 0)) * kRoles + index_of(role); }
  static AttentionCore of(std::size_t id) {
    return {id / kRoles / 2, static_cast<Role>(id % kRoles), id / kRoles % 2 == 1};
  }
  static std::size_t ids(std::size_t kinds) { return 2 * kinds * kRoles; }
};
/// Its seconds with other documents than those of the context, between the projections; of a method
/// whose exchanges run beside the rest of the layer, those of the whole layer.
double core_seconds(const CostContext& context, const models::Layer& layer,
                    const AttentionCore& core, const std::vector<models::Window>& packs);

/// Embedding or head, of the head one of `shares` equal parts of the vocabulary.
PassCost end_cost(const CostContext& context, bool head, Role role, const Slice& slice = {},
                  int shares = 1);

/// What a multi-token-prediction layer takes beside the layer it is.
PassCost prediction_cost(const CostContext& context, Role role, const Slice& slice = {});

}  // namespace paceline::sim
