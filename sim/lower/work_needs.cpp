// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "sim/lower/stage_work.hpp"

/// What passes a program needs costs of, and the segments they become.
namespace paceline::sim {
namespace {

/// Boundaries at multiples of a tile, smaller where the slices are.
std::vector<Slice> equal_slices(int count, std::int64_t sequence) {
  PACELINE_CHECK(count >= 1 && count <= sequence);
  std::int64_t tile = 128;
  while (tile * count > sequence) tile /= 2;
  std::vector<Slice> slices;
  double begin = 0;
  for (int k = 1; k <= count; ++k) {
    const std::int64_t tokens = k == count ? sequence : sequence * k / count / tile * tile;
    const double end = static_cast<double>(tokens) / static_cast<double>(sequence);
    slices.push_back({begin, end});
    begin = end;
  }
  return slices;
}

}  // namespace

double scale_loss_factor(const Scenario& s) {
  const double nodes = std::max(1.0, static_cast<double>(s.parallel.world_size()) /
                                         s.cluster.groups.front().devices_per_node);
  return 1 + s.stack.scale_loss * std::log2(nodes);
}

WorkNeeds work_needs(const Program& program, std::int64_t sequence) {
  WorkNeeds needs;
  needs.forward_only = true;
  needs.pooled = program.pooled;
  for (const Pass& pass : program.passes) {
    const std::optional<Role> role = role_of(pass.name);
    if (!role) continue;
    needs.roles[index_of(*role)] = true;
    if (*role == Role::Backward || *role == Role::Input) needs.forward_only = false;
  }
  needs.slices = equal_slices(program.slices, sequence);
  return needs;
}

std::uint16_t add_segment(TaskGraph& graph, std::string name, const PassCost& cost) {
  if (graph.segments.size() >= 65535) {  // Task::segment has 16 bits
    throw base::Error("schedule", "more than 65535 different costs of stages, slices and passes",
                      "fewer slices, or fewer stages that differ");
  }
  Segment segment;
  segment.name = std::move(name);
  segment.parts = cost.parts;
  segment.bytes = cost.bytes;
  segment.flops = cost.flops;
  const double compute = cost.parts[static_cast<std::size_t>(Part::Compute)];
  if (cost.matrix_seconds > 0 && compute > 0)
    segment.matrix_share = std::min(1.0, cost.matrix_seconds / compute);
  segment.seconds = cost.seconds;
  segment.attention = cost.attention;
  for (const InnerTask& task : cost.inner) {
    if (task.stream == Stream::Compute || task.finish <= task.start) continue;
    segment.inner.push_back({task.stream, task.name, task.start, task.finish, task.sent});
  }
  graph.segments.push_back(std::move(segment));
  return static_cast<std::uint16_t>(graph.segments.size() - 1);
}

}  // namespace paceline::sim
