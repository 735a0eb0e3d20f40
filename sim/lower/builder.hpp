// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "sim/lower/lower.hpp"
#include "sim/lower/network.hpp"
#include "sim/lower/stage_work.hpp"

namespace paceline::sim {

/// One action of the program as the builder needs it.
struct ActionContext {
  int lane = 0;
  int stage = 0;
  bool forward = true;
  std::uint32_t position = 0;  ///< in the lane's order
  /// message or action it waits for; max = none
  TaskId input = kNoTask;
  bool first = false;  ///< first and last microbatch of this pass of the stage on the lane
  bool last = false;
  bool sends = false;  ///< its result goes to another rank
};

/// Adds tasks for actions and for the end of the step.
class StepBuilder {
 public:
  StepBuilder(const models::Scenario& scenario, const models::Plan& plan,
              const LowerOptions& options);

  int replicas() const { return replicas_; }
  int lane_of(int replica, int pipeline_rank) const;

  /// Emits the action; returns the task after which its result is where it is needed.
  TaskId add_action(const ActionContext& action);
  /// Gradient reduction, optimizer, parameter gathering and per-step overhead of every lane.
  void finish_step();
  TaskGraph take();

 private:
  struct Hop {
    struct Way {
      double alone = 0;  ///< seconds without host time
      double fluid = 0;  ///< of them, what depends on the bytes
      std::uint16_t segment = 0;
    };
    double size = 0;  ///< bytes of a message
    Way down, up;
  };
  struct Markers {  ///< zero-length segments that carry the memory of an expanded pass
    std::uint16_t open = 0, close = 0;
    bool ready = false;
  };
  struct DpSegment {
    double bytes = 0;
    models::CollectiveOp op{};
    const models::CollectiveGroup* group = nullptr;
    std::uint16_t segment = 0;
    models::CollectiveChoice choice;
  };

  void make_contexts(bool keep_inner);
  void make_hops();
  void add_hop_segments(Hop& hop);
  void make_lanes();
  bool expands(const ActionContext& action) const;
  /// Layer by layer, because data-parallel collectives run beside it.
  bool expands_for_data(const ActionContext& action) const;
  TaskId add_whole(const ActionContext& action);
  TaskId add_expanded(const ActionContext& action);
  /// One part of a pass: as a whole, or piece by piece where its collectives may share wires.
  TaskId add_part(Task task, const PassPart& part, bool forward, TaskId gathered);
  TaskId add_pieces(Task task, const std::vector<InnerTask>& pieces, TaskId gathered);
  std::uint16_t piece_segment(const InnerTask& piece);
  std::uint16_t end_segment(std::uint16_t part);
  bool shares_inner() const;
  TaskId add_message(const ActionContext& action, TaskId after);
  TaskId add_dp(int lane, models::CollectiveOp op, double bytes,
                const models::CollectiveGroup& group, std::span<const TaskId> deps);
  TaskId reduce_gradients(int lane, double bytes, TaskId after, bool final);
  /// Of the device a lane's ranks sit on.
  const CostContext& context(int lane) const {
    return *stage_context_[static_cast<std::size_t>(lane % s_.parallel.pp)];
  }
  /// Sum of `of(StageWork)` over the stages a lane runs, in model order.
  template <class F>
  double sum_stages(std::size_t lane, const F& of) const {
    const auto pp = static_cast<std::size_t>(s_.parallel.pp);
    double sum = 0;
    for (std::size_t i = lane % pp; i < work_.size(); i += pp) sum += of(work_[i]);
    return sum;
  }
  const Markers& markers(std::uint16_t segment);
  void sync_gradients(int lane);
  void join_tied_embeddings();
  void add_optimizer(int lane);
  TaskId add(Task task, std::span<const TaskId> deps);
  /// Remembers how a task uses the network.
  void note_message(TaskId task, const ActionContext& action, const Hop& hop);
  void note_collective(TaskId task, const DpSegment& collective);
  void note_piece(TaskId task, const InnerTask& piece);
  std::uint16_t timed_segment(const char* name, Part part, double seconds);

  const models::Scenario& s_;
  const models::Plan& plan_;
  TaskGraph graph_;
  int replicas_ = 1;
  bool fsdp_ = false;
  bool bucketed_ = false;
  double dp_ranks_ = 1;
  std::vector<std::unique_ptr<CostContext>> contexts_;  ///< by distinct device group
  std::vector<const CostContext*> stage_context_;       ///< by stage
  std::vector<StageWork> work_;                         ///< by stage
  std::vector<Hop> hops_;                               ///< by stage: to the next stage
  std::vector<Markers> markers_;                        ///< by segment
  std::vector<DpSegment> dp_segments_;
  std::vector<TaskId> last_compute_;    ///< by lane; kNoTask = none yet
  std::vector<TaskId> compute_before_;  ///< by lane: the one before the last (prefetch window)
  std::vector<TaskId> last_dp_;         ///< by lane
  bool network_ = false;
  bool inner_ = false;  ///< collectives inside passes become tasks
  bool chunks_ = false;
  models::DataAxes axes_;
  std::vector<models::Axis> tp_axes_, cp_axes_;
  std::map<std::tuple<std::string_view, double, double>, std::uint16_t> piece_segments_;
  std::map<std::uint16_t, std::uint16_t> end_segments_;
  std::vector<NetworkTask> network_tasks_;
};

}  // namespace paceline::sim
