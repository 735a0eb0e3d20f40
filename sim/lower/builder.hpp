// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "sim/lower/copy_updates.hpp"
#include "sim/lower/lower.hpp"
#include "sim/lower/network.hpp"
#include "sim/lower/stage_work.hpp"
#include "sim/placement.hpp"

namespace paceline::sim {

/// One action of the program as the builder needs it.
struct ActionContext {
  int lane = 0;
  Action action;
  Direction direction = Direction::None;
  std::uint32_t position = 0;      ///< in the lane's order
  std::span<const TaskId> inputs;  ///< messages and actions it waits for
  bool first = false;              ///< of this pass of the stage on the lane since the last update
  bool last = false;               ///< before the next update, or the end of the step
  bool opens = true;               ///< first of those that share a gathering of the weights
  bool closes = true;              ///< last of them
  /// The other action of a fused pair; it follows this one where `leads`.
  const ActionContext* partner = nullptr;
  bool leads = false;
};

/// Adds tasks for actions and for the end of the step.
class StepBuilder {
 public:
  StepBuilder(const models::Scenario& scenario, const models::Plan& plan, const Program& program,
              const LowerOptions& options);

  int replicas() const { return replicas_; }
  int lane_of(int replica, int pipeline_rank) const;
  /// Ready dispatch: dependencies say what the order says otherwise.
  bool ready() const { return ready_; }
  /// Whether the first or last action of a pass and stage gathers parameters or reduces gradients
  /// for all of them.
  bool ends_count() const;

  /// Emits the action; returns its last task.
  TaskId add_action(const ActionContext& action);
  /// The message that takes the result of an action, `done`, to another pipeline rank.
  TaskId add_message(const ActionContext& action, TaskId done, int receiver);
  /// To a stage of another module.
  TaskId add_boundary(const ActionContext& action, TaskId done, int receiver, int stage);
  /// Whether stages belong to different modules.
  bool crosses(int stage, int other) const { return mesh_of_stage(stage) != mesh_of_stage(other); }
  /// The same to several: one broadcast over the pipeline.
  TaskId add_broadcast(const ActionContext& action, TaskId done);
  /// Gradient reduction, optimizer, parameter gathering and per-step overhead of every lane.
  void finish_step();
  TaskGraph take();

 private:
  struct Hop {
    int receiver = 0;  ///< pipeline rank
    Direction direction = Direction::Down;
    int slice = 0;
    double size = 0;   ///< bytes of a message
    double alone = 0;  ///< seconds without host time
    double fluid = 0;  ///< of them, what depends on the bytes
    std::uint16_t segment = 0;
    double tensors = 1;                     ///< of the width of a layer, see boundary_tensors
    std::int64_t layer = models::kNoLayer;  ///< below the boundary, where rules ask
  };
  struct Markers {  ///< zero-length segments that carry the memory of an expanded pass
    std::uint16_t open = 0, close = 0;
    bool ready = false;
  };
  struct DpSegment {
    double bytes = 0;
    models::CollectiveOp op{};
    const models::CollectiveGroup* group = nullptr;
    int lane = 0;  ///< whose layers count, where rules for codecs tell them apart; else 0
    std::uint16_t segment = 0;
    models::CollectiveChoice choice;
  };

  void make_contexts(bool keep_inner);
  void make_work(const Program& program);
  void make_lanes(const Program& program);
  const Hop& hop(int sender, const ActionContext& action, int receiver);
  std::uint16_t hop_segment(const Hop& hop);
  double boundary_tensors(int stage) const;
  int pipeline_ranks() const { return static_cast<int>(plan_.pipeline.size()); }
  int rank_of(int lane) const { return lane % pipeline_ranks(); }
  int device_of(int rank) const { return plan_.pipeline[static_cast<std::size_t>(rank)].device; }
  /// A mesh of the plan: the whole model, or a module with its view.
  struct MeshPart {
    const models::Scenario* s = nullptr;
    const models::Plan* plan = nullptr;
    /// Some parameters are held by several ranks: gradients are summed, shards gathered.
    bool data_parallel = false;
    bool fsdp = false, bucketed = false;
    int copies = 1;          ///< pipeline ranks with a copy of its stage
    std::vector<int> lanes;  ///< pipeline ranks it stands on
  };
  const MeshPart& part_of_stage(int stage) const {
    return parts_[static_cast<std::size_t>(plan_.stages[static_cast<std::size_t>(stage)].mesh)];
  }
  const MeshPart& part_of(const ActionContext& action) const {
    return part_of_stage(action.action.stage);
  }
  std::size_t mesh_of_stage(int stage) const {
    return static_cast<std::size_t>(plan_.stages[static_cast<std::size_t>(stage)].mesh);
  }
  void make_parts(const Program& program);
  std::uint16_t boundary_segment(const ActionContext& action, int receiver, int stage);
  /// What a rank holds of a stage.
  const StageWork& held(int rank, int stage) const;
  const StageWork& stage_of(const ActionContext& action) const {
    return held(rank_of(action.lane), action.action.stage);
  }
  const SliceWork& work_of(const ActionContext& action) const {
    return stage_of(action).slices[static_cast<std::size_t>(action.action.slice)];
  }
  Role role(const ActionContext& action) const { return roles_[action.action.pass]; }
  TaskId add_side(const ActionContext& action, SidePass side);
  TaskId add_update(const ActionContext& action);
  TaskId exchange_copies(const ActionContext& action, double bytes);
  TaskId add_norm(const ActionContext& action);
  TaskId add_copy(const ActionContext& action, SidePass side);
  TaskId add_foreign(const ActionContext& action);
  Task task_of(const ActionContext& action, TaskKind kind, Stream stream,
               std::uint16_t segment) const;
  /// Between a device and its host, or what stands behind it.
  struct Copy {
    const char* name;
    Stream stream = Stream::CopyIn;
    double bytes = 0;
    base::BytesPerSecond rate;  ///< 0: of the device's link to the host
    bool activations = false;   ///< they leave the device, or come back to it
  };
  std::uint16_t copy_segment(const ActionContext& action, const Copy& copy);
  TaskId fetch_weights(const ActionContext& action);
  TaskId add_pooled(const ActionContext& action);
  void hold_pool();
  void hold_versions(const Program& program);
  TaskId add_vocabulary(const ActionContext& action, SidePass side);
  void make_vocabulary(const Program& program);
  StageWork vocabulary_share() const;
  PassCost vocabulary_cost(int rank, Role role) const;
  double shared_bytes(const ActionContext& action) const;
  Task optimizer_task(int lane, std::size_t mesh, const RankParameters& held);
  bool expands(const ActionContext& action) const;
  /// Layer by layer, because data-parallel collectives run beside it.
  bool expands_for_data(const ActionContext& action) const;
  bool copies_gradients(const ActionContext& action) const;
  TaskId add_whole(const ActionContext& action);
  /// Whether a fused pair runs at the same time (pair_cost.hpp), not one after the other.
  bool overlaps(const ActionContext& action) const;
  std::uint16_t pair_segment(const ActionContext& action);
  TaskId add_expanded(const ActionContext& action);
  /// Where several actions share a gathering: the whole weights of the stage, or the whole
  /// gradients, are there from the first of them to the last.
  void keep_whole(const ActionContext& action, Task task);
  /// One part of a pass: as a whole, or piece by piece where its collectives may share wires.
  TaskId add_part(Task task, const PassPart& part, Role role, TaskId gathered);
  TaskId add_pieces(Task task, const std::vector<InnerTask>& pieces, TaskId gathered);
  std::uint16_t piece_segment(const InnerTask& piece);
  std::uint16_t end_segment(std::uint16_t part);
  bool shares_inner() const;
  TaskId add_dp(int lane, std::size_t mesh, models::CollectiveOp op, double bytes,
                const models::CollectiveGroup& group, std::span<const TaskId> deps);
  TaskId reduce_gradients(int lane, std::size_t mesh, const DataBytes& bytes, TaskId after,
                          bool final);
  TaskId reduce_over(int lane, std::size_t mesh, double bytes, const models::DataGroups& groups,
                     TaskId after, bool final);
  /// Parameters of the shards to all who hold them; kNoTask where nothing is to gather.
  TaskId gather_parameters(int lane, std::size_t mesh, const DataBytes& bytes, TaskId after);
  /// Of the device a lane's ranks sit on, for one of the modules there.
  const CostContext& context(int lane, std::size_t mesh) const {
    return *rank_context_[static_cast<std::size_t>(rank_of(lane))][mesh];
  }
  const CostContext& context(const ActionContext& action) const {
    return context(action.lane, mesh_of_stage(action.action.stage));
  }
  /// Sum of `of(StageWork)` over the stages a lane holds, in model order.
  template <class F>
  auto sum_stages(std::size_t lane, const F& of) const {
    const auto rank = static_cast<std::size_t>(rank_of(static_cast<int>(lane)));
    auto sum = decltype(of(work_.front())){};
    for (std::size_t i = first_held_[rank]; i < first_held_[rank + 1]; ++i) sum += of(work_[i]);
    return sum;
  }
  /// Over those of one mesh.
  template <class F>
  auto sum_stages(std::size_t lane, std::size_t mesh, const F& of) const {
    const auto rank = static_cast<std::size_t>(rank_of(static_cast<int>(lane)));
    auto sum = decltype(of(work_.front())){};
    for (std::size_t i = first_held_[rank]; i < first_held_[rank + 1]; ++i)
      if (work_[i].mesh == mesh) sum += of(work_[i]);
    return sum;
  }
  const Markers& markers(std::uint16_t segment);
  TaskId join(std::size_t lane, std::span<const TaskId> tasks);
  /// After it all of the lane so far has run.
  TaskId lane_end(std::size_t lane);
  void sync_gradients(int lane, std::size_t mesh);
  std::vector<int> held_stages(int rank, std::size_t mesh) const;
  /// What codecs of gradients keep on every rank from step to step.
  void hold_codec_state();
  void join_copies();
  models::CollectiveChoice pair_time(int first, int second, double bytes) const;
  void join_pair(std::array<int, 2> ranks, const char* name, double bytes);
  void join_tied_embeddings();
  void add_optimizer(int lane);
  TaskId add_optimizer(int lane, std::size_t mesh, TaskId before);
  void add_step_overhead(int lane, TaskId after);
  // An optimizer that is not on the device (builder_offload.cpp).
  bool offloads(std::size_t mesh) const { return parts_[mesh].s->optimizer.offload.host(); }
  /// What ZeRO leaves a rank of the optimizer's work.
  double shard_of(std::size_t mesh, const RankParameters& held) const;
  double copy_rate(int lane, Stream stream) const;
  TaskId add_plain(int lane, Stream stream, TaskKind kind, const char* name, Part part,
                   double seconds, double bytes, std::span<const TaskId> deps);
  TaskId copy_gradients(int lane, std::size_t mesh, const RankParameters& held, TaskId after);
  TaskId add_host_optimizer(int lane, std::size_t mesh, const RankParameters& held,
                            TaskId gradients);
  void hold_host();
  void hold_boundaries();
  TaskId add(Task task, std::span<const TaskId> deps);
  /// Remembers how a task uses the network.
  void note_message(TaskId task, int lane, const Hop& hop);
  void note_collective(TaskId task, const DpSegment& collective);
  void note_piece(TaskId task, const InnerTask& piece);
  const std::vector<models::Axis>& axes_of(models::GroupAxis axis) const;
  /// All tasks of the segment run this kernel.
  void note_kernel(std::uint16_t segment, std::shared_ptr<const models::Op> kernel);
  void add_exchanges();
  std::uint16_t timed_segment(const char* name, Part part, double seconds);
  std::map<std::pair<std::string_view, double>, std::uint16_t> timed_segments_;
  std::map<std::tuple<std::string_view, double, double>, std::uint16_t> plain_segments_;
  std::vector<TaskId> last_gradient_copy_;  ///< by lane
  /// by name, rank, stage and slice, 0 where one does not matter
  std::map<std::tuple<std::string_view, int, int, int>, std::uint16_t> side_segments_;

  const models::Scenario& s_;
  models::Plan plan_;
  TaskGraph graph_;
  int replicas_ = 1;
  bool ready_ = false;
  std::uint16_t join_segment_ = 0;                      ///< 0: none yet
  std::vector<MeshPart> parts_;                         ///< by mesh
  std::vector<std::unique_ptr<CostContext>> contexts_;  ///< by distinct device group
  /// By pipeline rank and mesh; null where the rank has no part of it.
  std::vector<std::vector<const CostContext*>> rank_context_;
  Placement placement_;
  std::vector<Role> roles_;              ///< by pass of the program; of side passes without meaning
  std::vector<SidePass> sides_;          ///< by pass of the program
  bool pooled_ = false;                  ///< weights live in host memory (Program::pooled)
  bool shared_vocabulary_ = false;       ///< the output layer is cut over the pipeline's ranks
  bool early_gradient_ = false;          ///< S also makes the gradient of the last stage's output
  std::vector<int> fetched_;             ///< by lane of a pool: stage whose weights it has, or -1
  std::vector<TaskId> fetch_window_;     ///< by lane: compute task the next fetch waits for
  CopyUpdates copy_updates_;             ///< by replica and stage
  bool updates_ = false;                 ///< the program says when stages update their weights
  std::vector<StageWork> work_;          ///< by held stage: rank after rank, in model order
  std::vector<std::size_t> first_held_;  ///< by rank, into work_; one more at the end
  std::vector<Slice> slices_;
  std::vector<std::vector<Hop>> hops_;  ///< by sending rank
  std::vector<Hop> distinct_hops_;      ///< one for each segment
  std::vector<Markers> markers_;        ///< by segment
  std::vector<DpSegment> dp_segments_;
  std::vector<TaskId> last_compute_;    ///< by lane; kNoTask = none yet
  std::vector<TaskId> compute_before_;  ///< by lane: the one before the last (prefetch window)
  std::vector<TaskId> last_dp_;         ///< by lane
  std::map<std::tuple<int, std::size_t, Direction, bool>, std::uint16_t> boundary_segments_;
  std::vector<std::vector<TaskId>> lane_tasks_;  ///< ready dispatch: all that run of a lane
  bool kernels_ = false;
  bool network_ = false;
  bool inner_ = false;  ///< collectives inside passes become tasks
  bool chunks_ = false;
  models::DataAxes axes_;
  models::ExpertAxes expert_axes_;
  std::vector<models::Axis> tp_axes_, cp_axes_, cp_inner_axes_, cp_outer_axes_;
  /// By name, phase of a kernel, seconds and bytes.
  std::map<std::tuple<std::string_view, int, double, double>, std::uint16_t> piece_segments_;
  std::map<std::uint16_t, std::uint16_t> end_segments_;
  /// By the segments of the two alone.
  std::map<std::pair<std::uint16_t, std::uint16_t>, std::array<std::uint16_t, 2>> pair_segments_;
  std::vector<NetworkTask> network_tasks_;
};

}  // namespace paceline::sim
