// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "models/cost/memory.hpp"
#include "sim/lower/builder.hpp"
#include "sim/lower/optimizer_cost.hpp"

/// An optimizer whose states lie in host memory or on drives: copies beside the backward, steps of
/// the processors, copies back. Every subgroup is a task on the host's stream, on the copy streams
/// and, where the device updates it, on the compute stream: they overlap as their streams allow.
namespace paceline::sim {
namespace {

/// Moments and master weights in fp32 (or as the scenario keeps them).
double state_width(const models::Scenario& s) { return models::state_bytes(s).optimizer; }

}  // namespace

double StepBuilder::shard_of(std::size_t mesh, const RankParameters& held) const {
  return updated_parameters(*parts_[mesh].s, held);
}

/// Bytes a second between a device and its host while all devices of the node copy: those below one
/// PCIe switch share its way up.
double StepBuilder::copy_rate(int lane, Stream stream) const {
  const int device = graph_.lanes[static_cast<std::size_t>(lane)].representative;
  const std::size_t index = s_.cluster.place_of(device).group;
  const models::NodeGroup& group = s_.cluster.groups[index];
  const models::Profile& profile = s_.profiles[index];
  const auto& measured = stream == Stream::CopyOut ? profile.to_host : profile.to_device;
  double rate = measured ? measured->rate.value : group.device.host_bandwidth.value;
  if (!group.pcie) return rate;
  const auto& switches = group.pcie->device_switch;
  const auto in_node = static_cast<std::size_t>(device % group.devices_per_node);
  const auto sharers = std::count(switches.begin(), switches.end(), switches.at(in_node));
  return std::min(rate, group.pcie->root_port.rate().value / static_cast<double>(sharers));
}

TaskId StepBuilder::add_plain(int lane, Stream stream, TaskKind kind, const char* name, Part part,
                              double seconds, double bytes, std::span<const TaskId> deps) {
  const auto [found, fresh] = plain_segments_.try_emplace({name, seconds, bytes}, std::uint16_t{0});
  if (fresh) {
    PassCost cost;
    cost.seconds = seconds;
    cost.parts[static_cast<std::size_t>(part)] = seconds;
    if (bytes > 0) cost.bytes[static_cast<std::size_t>(stream)] = bytes;
    found->second = add_segment(graph_, name, cost);
  }
  Task task;
  task.lane = static_cast<std::uint32_t>(lane);
  task.kind = kind;
  task.stream = stream;
  task.segment = found->second;
  task.seconds = seconds;
  task.origin = static_cast<std::uint32_t>(graph_.tasks.size());
  return add(task, deps);
}

/// Gradients of so many parameters of a rank, its shard of them, to the host.
TaskId StepBuilder::copy_gradients(int lane, std::size_t mesh, const RankParameters& held,
                                   TaskId after) {
  const double width = models::element_bytes(parts_[mesh].s->optimizer.offload.gradients);
  const double bytes = shard_of(mesh, held) * width;
  TaskId& last = last_gradient_copy_[static_cast<std::size_t>(lane)];
  return last =
             add_plain(lane, Stream::CopyOut, TaskKind::Message, "gradients to host", Part::Offload,
                       bytes / copy_rate(lane, Stream::CopyOut), bytes, sim::after(after));
}

/// The step in subgroups: the processors of a node work for all its devices; drives read the states
/// of a subgroup and write them back while the processors are at others, and the slower of the two
/// sets the pace.
TaskId StepBuilder::add_host_optimizer(int lane, std::size_t mesh, const RankParameters& held,
                                       TaskId gradients) {
  const models::Scenario& s = *parts_[mesh].s;
  const models::OptimizerOffload& o = s.optimizer.offload;
  const int device = graph_.lanes[static_cast<std::size_t>(lane)].representative;
  const models::NodeGroup& node = s.cluster.groups[s.cluster.place_of(device).group];
  const double shared = std::min(node.devices_per_node, plan_.world_size);
  const double each = shard_of(mesh, held) / o.subgroups;
  const double states = each * state_width(s), weights = each * models::state_bytes(s).weight;
  double update = each * shared / o.cpu_rate;
  const bool drives = o.device == models::OptimizerDevice::Nvme;
  if (drives) update = std::max(update, states * shared * (1 / o.read.value + 1 / o.write.value));
  const double in = copy_rate(lane, Stream::CopyIn), out = copy_rate(lane, Stream::CopyOut);
  std::vector<TaskId> ends;
  for (int i = 0; i < o.subgroups; ++i) {
    const bool here = std::floor((i + 1) * o.device_share) > std::floor(i * o.device_share);
    if (!here) {
      const TaskId done = add_plain(lane, Stream::Host, TaskKind::Host, "optimizer on host",
                                    Part::Host, update, 0, sim::after(gradients));
      ends.push_back(add_plain(lane, Stream::CopyIn, TaskKind::Message, "weights from host",
                               Part::Offload, weights / in, weights, {&done, 1}));
      continue;
    }
    const TaskId fetched = add_plain(lane, Stream::CopyIn, TaskKind::Message, "states from host",
                                     Part::Offload, states / in, states, sim::after(gradients));
    Task task = optimizer_task(lane, mesh, {held.all / o.subgroups, held.experts / o.subgroups});
    const TaskId done = add(task, {&fetched, 1});
    ends.push_back(add_plain(lane, Stream::CopyOut, TaskKind::Message, "states to host",
                             Part::Offload, states / out, states, {&done, 1}));
  }
  return join(static_cast<std::size_t>(lane), ends);
}

/// The optimizer's states leave the devices; two subgroups of them come back at a time.
void StepBuilder::hold_host() {
  for (std::size_t l = 0; l < graph_.lanes.size(); ++l) {
    Lane& lane = graph_.lanes[l];
    for (std::size_t mesh = 0; mesh < parts_.size(); ++mesh) {
      if (!offloads(mesh)) continue;
      const models::OptimizerOffload& o = parts_[mesh].s->optimizer.offload;
      const double states =
          sum_stages(l, mesh, [](const StageWork& w) { return w.memory.optimizer; });
      const RankParameters held =
          sum_stages(l, mesh, [](const StageWork& w) { return w.parameters; });
      const double gradients = shard_of(mesh, held) * models::element_bytes(o.gradients);
      for (MemoryDelta& delta : lane.resident)
        if (delta.part == MemoryPart::Optimizer) delta.bytes -= states;
      lane.host_bytes += states + gradients;
      if (o.device_share > 0)
        lane.resident.push_back({MemoryPart::Buffers, 2 * states / o.subgroups});
    }
  }
}

}  // namespace paceline::sim
