// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/replicas.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace paceline::sim {

int independent_replicas(const models::Scenario& s) {
  const models::Parallel& p = s.parallel;
  const std::int64_t expert_group = std::int64_t{p.ep} * p.etp;
  const std::int64_t ranks = std::int64_t{p.dp} * p.cp * p.tp;
  return static_cast<int>(std::clamp<std::int64_t>(ranks / expert_group, 1, p.dp));
}

UnfoldedGraph unfold_replicas(const TaskGraph& graph, int replicas) {
  const auto copies = static_cast<TaskId>(replicas);
  const std::size_t lanes = graph.lanes.size();
  UnfoldedGraph out;
  out.replicas = replicas;
  out.graph.segments = graph.segments;
  for (TaskId k = 0; k < copies; ++k) {
    for (const Lane& lane : graph.lanes) {
      out.graph.lanes.push_back(lane);
      out.graph.lanes.back().members = std::max<std::int64_t>(1, lane.members / replicas);
    }
  }
  out.graph.reserve(graph.tasks.size() * copies, graph.deps.size() * copies);
  std::vector<TaskId> first(graph.tasks.size());  // copy of replica 0; the others follow it
  std::vector<TaskId> deps;
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    for (const TaskId d : graph.dependencies(t)) PACELINE_CHECK(d < t);
    Task task = graph.tasks[t];
    TaskId together = kNoTask;
    if (copies > 1 && task.kind == TaskKind::Collective && task.stream == Stream::Dp) {
      deps.clear();
      for (TaskId k = 0; k < copies; ++k) {
        for (const TaskId d : graph.dependencies(t)) deps.push_back(first[d] + k);
      }
      Task join;
      join.lane = task.lane;
      join.stream = Stream::None;
      join.kind = TaskKind::Join;
      join.segment = task.segment;
      together = out.graph.add(join, deps);
      out.origin.push_back(kNoTask);
    }
    first[t] = static_cast<TaskId>(out.graph.tasks.size());
    for (TaskId k = 0; k < copies; ++k) {
      task.lane = static_cast<std::uint32_t>(k * lanes) + graph.tasks[t].lane;
      deps.clear();
      if (together != kNoTask) {
        deps.push_back(together);
      } else {
        for (const TaskId d : graph.dependencies(t)) deps.push_back(first[d] + k);
      }
      const TaskId copy = out.graph.add(task, deps);
      if (graph.boundary(t) != kNoTask) out.graph.cross(copy, graph.boundary(t));
      out.origin.push_back(t);
    }
  }
  return out;
}

std::size_t lane_of_rank(const models::Plan& plan, int rank, int replicas, std::size_t lanes) {
  const models::Mesh& mesh = plan.meshes.front();
  const auto digit = [&](std::string_view name) {
    const models::MeshAxis axis = mesh.axis(name);
    return static_cast<std::size_t>(rank / axis.stride % axis.size);
  };
  const auto dp = static_cast<std::size_t>(mesh.axis("dp").size);
  const std::size_t replica = digit("dp") * static_cast<std::size_t>(replicas) / dp;
  return replica * lanes + digit("pp") % lanes;
}

}  // namespace paceline::sim
