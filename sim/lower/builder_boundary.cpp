// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/parallel/boundary.hpp"
#include "models/workload/layer_ops.hpp"
#include "sim/lower/builder.hpp"

/// Messages between modules.
namespace paceline::sim {

/// Forward to the module that is fed, or gradients back from it.
std::uint16_t StepBuilder::boundary_segment(const ActionContext& action, int receiver, int stage) {
  const bool down = action.direction == Direction::Down;
  const std::size_t module = mesh_of_stage(down ? action.action.stage : stage);
  const bool first = receiver == rank_of(action.lane);
  const auto [found, fresh] = boundary_segments_.try_emplace(
      {rank_of(action.lane), module, action.direction, first}, std::uint16_t{0});
  if (!fresh) return found->second;
  const int index = static_cast<int>(module);
  const models::Boundary boundary = down ? models::forward_boundary(s_, plan_, index)
                                         : models::backward_boundary(s_, plan_, index, first);
  // Forward, the copies of the module send together: each lane its share.
  const MeshPart& from = part_of(action);
  double members = 0;
  for (const int rank : down ? from.lanes : std::vector<int>{rank_of(action.lane)})
    if (from.copies > 1 || rank == rank_of(action.lane))
      members += static_cast<double>(plan_.pipeline[static_cast<std::size_t>(rank)].members);
  PassCost cost;
  cost.seconds = boundary.time.value;
  cost.parts[static_cast<std::size_t>(Part::ExposedPp)] = cost.seconds;
  cost.bytes[static_cast<std::size_t>(down ? Stream::PpDown : Stream::PpUp)] =
      boundary.bytes / members;
  const std::string& name = s_.modules[module].name;
  return found->second = add_segment(graph_, (down ? "from " : "gradients of ") + name, cost);
}

/// What modules have made and the first stage of their reader has not taken: `ahead` microbatches
/// over separate ranks, the whole batch where a module runs before it.
void StepBuilder::hold_boundaries() {
  for (std::size_t i = 0; i < s_.modules.size(); ++i) {
    const models::Module& m = s_.modules[i];
    if (m.feeds < 0 || parts_.size() < 2) continue;
    const models::Scenario& reader = *s_.modules[static_cast<std::size_t>(m.feeds)].view;
    const bool whole = m.host >= 0 && m.turns == models::Turns::WholeBatch;
    if (m.host >= 0 && !whole) continue;
    const double all = static_cast<double>(s_.batch.global);
    const auto samples = [&](const models::Module& of) {
      return static_cast<double>(of.micro) * of.view->parallel.dp;
    };
    const double larger =
        std::max(samples(m), samples(s_.modules[static_cast<std::size_t>(m.feeds)]));
    const double waiting = std::min(all, whole ? all : m.ahead * larger);
    const double bytes = waiting / reader.parallel.dp * static_cast<double>(m.sent_tokens) *
                         static_cast<double>(m.width) * models::activation_element(s_.precision);
    const int rank = parts_[static_cast<std::size_t>(m.feeds)].lanes.front();
    graph_.lanes[static_cast<std::size_t>(rank)].resident.push_back({MemoryPart::Buffers, bytes});
  }
}

TaskId StepBuilder::add_boundary(const ActionContext& action, TaskId done, int receiver,
                                 int stage) {
  const std::uint16_t segment = boundary_segment(action, receiver, stage);
  const Stream stream = action.direction == Direction::Down ? Stream::PpDown : Stream::PpUp;
  return add(task_of(action, TaskKind::Message, stream, segment), {&done, 1});
}

}  // namespace paceline::sim
