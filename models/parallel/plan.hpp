// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/cost/collective.hpp"
#include "models/hardware/placement.hpp"
#include "models/scenario/scenario.hpp"

namespace paceline::models {

/// One axis of a mesh; the stride is the distance of neighbours in ranks.
struct MeshAxis {
  std::string name;  ///< tp, cp, dp, pp; of experts etp, ep, edp, pp
  int size = 1;
  int stride = 1;
};

/// The ranks of one part of the model (attention, experts, a module) in ordered axes, innermost
/// first. Groups are derived: all ranks that differ in one axis only. A dense model has one mesh,
/// "model"; one with experts has a second over the same ranks, "experts" (MoE parallel folding,
/// arXiv 2504.14960, section 3): the same pipeline, but its own axes inside a stage.
struct Mesh {
  std::string part;
  int first_rank = 0;
  std::vector<MeshAxis> axes;
  int ranks() const;
  MeshAxis axis(std::string_view name) const;  ///< size 1, stride 1 when the mesh lacks it
};

/// Layers [first, first + count) of the model, with the ends it holds.
struct Stage {
  int first_layer = 0;
  int layers = 0;
  bool embedding = false;
  bool head = false;
  int mesh = 0;
};

/// Index into model.kinds of the i-th layer of the stage, and that kind of layer.
inline std::size_t kind_at(const Model& model, const Stage& stage, int i) {
  return static_cast<std::size_t>(model.layers[static_cast<std::size_t>(stage.first_layer + i)]);
}
inline const Layer& layer_at(const Model& model, const Stage& stage, int i) {
  return model.kinds[kind_at(model, stage, i)];
}

/// One rank of a pipeline, as all its replicas: `members` ranks, the first of them `device`.
struct PipelineRank {
  int device = 0;
  std::int64_t members = 1;
};

/// Where everything lies: the answer to "which rank holds what", before any time is known.
struct Plan {
  std::vector<Mesh> meshes;
  /// pp*chunks, in model order; stage s runs on pipeline rank s % pp. Of modules: one module after
  /// another, what feeds first, those that stand on several pipeline ranks once for each.
  std::vector<Stage> stages;
  std::vector<PipelineRank> pipeline;  ///< those of the host's ranks where modules share them
  int microbatches = 1;                ///< per replica and step
  double tokens = 0;                   ///< of one microbatch on one rank (after cp)
  int world_size = 1;
  /// How many ranks one simulated lane stands for (tp*cp*dp of a dense mesh).
  std::int64_t members_per_lane = 1;
  std::vector<Plan> modules;  ///< by mesh, as the module's view lays it out; empty without modules
};

/// The mesh of the experts; null for a dense model, and for a plan of modules, which have their
/// own.
const Mesh* expert_mesh(const Plan& plan);

/// What of the model has no times in this version, "mixture-of-experts layers"; "" = nothing.
std::string_view untimed_part(const Model& model);

/// Checks divisibility and builds the plan; anything that does not divide is an Error naming the
/// scenario's key and the values that would. Models without times are laid out too.
Plan lay_out(const Scenario& scenario);

/// The plan of a step that can be timed: an Error for a model with an untimed part.
Plan make_plan(const Scenario& scenario);

/// The plan of a model made of modules (lay_out calls it): pools of ranks, and on them the stages.
/// An Error for ranks that overlap without saying so, or cut a pipeline rank of their host.
Plan lay_out_modules(const Scenario& scenario);
/// The plan without modules.
Plan lay_out_one(const Scenario& scenario);

/// Of a module: the pipeline ranks of the plan it stands on, and its first stage there.
struct ModulePlace {
  std::vector<int> ranks;  ///< one a stage, or where its pp is 1 all that hold copies
  int first_stage = 0;
};
std::vector<ModulePlace> module_places(const Scenario& scenario, const Plan& plan);

/// Most actions of one step over all ranks and passes; larger questions are refused.
inline constexpr std::int64_t kMaxActions = 50'000'000;

/// The group that spans the named axes and holds `first_device`, as the collective model sees it:
/// rank r sits on device r. Between sites the slowest of the groups of that stage: all wait for it.
/// Pointers lead into the scenario's cluster.
CollectiveGroup group_of(const Plan& plan, const Scenario& scenario,
                         std::span<const std::string_view> axes, int first_device = 0);
/// The ranks of a sequence, and the parts of them that the method of `parallel.context` makes.
struct ContextGroups {
  CollectiveGroup all, inner, outer;
};
ContextGroups context_groups(const Plan& plan, const Scenario& scenario, int first_device = 0);
/// Ranks that hold copies of the same parameters (cp and dp), and under sharding the parts of it:
/// `shard` shares one set of shards, `replicas` holds equal shards (HSDP; one rank otherwise).
struct DataGroups {
  CollectiveGroup all, shard, replicas;
};
DataGroups data_groups(const Plan& plan, const Scenario& scenario, int first_device = 0);
/// The axes the three groups span, in devices.
struct DataAxes {
  std::vector<Axis> all, shard, replicas;
};
DataAxes data_axes(const Plan& plan, const Scenario& scenario);

/// Of the experts: who exchanges tokens, who shares an expert's matrices, who holds the same ones.
/// Groups of one for a dense model.
struct ExpertGroups {
  CollectiveGroup ep, etp;
  DataGroups data;
};
ExpertGroups expert_groups(const Plan& plan, const Scenario& scenario, int first_device = 0);
struct ExpertAxes {
  std::vector<Axis> ep, etp;
  DataAxes data;
};
ExpertAxes expert_axes(const Plan& plan);

/// "all_reduce of data parallelism cannot run as collectives.algorithm says: ring is taken, as NCCL
/// does", for every group that falls back.
std::vector<std::string> fallen_back_groups(const Plan& plan, const Scenario& scenario);

/// Two ranks that exchange messages.
CollectiveGroup pair_of(const Scenario& scenario, int from, int to);
/// The slowest of the pairs that the replicas of a pipeline make of two of its devices, given as
/// offsets in the replica: between sites they differ.
CollectiveGroup slowest_pair(const Plan& plan, const Scenario& scenario, int from, int to);

/// First rank of a replica of the pipeline: its number written in the digits of every axis but pp.
int replica_offset(const Mesh& mesh, int replica);
/// Whether ranks of one stage, or of two stages, may lie differently on one kind of node.
bool places_differ(const Scenario& scenario);

/// A warning for every kind of group whose collectives go over links the white box makes no claim
/// for (unclaimed_link), or that the switches of the network reduce, and that no log of the
/// scenario speaks for.
std::vector<std::string> unclaimed_groups(const Plan& plan, const Scenario& scenario);

}  // namespace paceline::models
