// SPDX-License-Identifier: Apache-2.0
#include "reports/answer.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include "sim/placement.hpp"

namespace paceline::reports {

namespace {

std::string range(std::int64_t first, std::int64_t count) {
  std::string out = std::to_string(first);
  if (count > 1) out += "-" + std::to_string(first + count - 1);
  return out;
}

/// Ranks that share a pipeline rank are blocks of `stride` ranks, `stride * size` apart.
std::string describe_ranks(const models::MeshAxis& pipeline, int world, const sim::Lane& lane) {
  const std::int64_t stride = pipeline.stride, period = stride * pipeline.size;
  if (lane.members == 1) return "rank " + std::to_string(lane.representative);
  if (period <= 0 || lane.members * pipeline.size != world) {
    return "rank " + std::to_string(lane.representative) + " and " +
           std::to_string(lane.members - 1) + " like it";
  }
  const std::int64_t blocks = lane.members / stride;
  const std::int64_t first = lane.representative / stride % pipeline.size * stride;
  std::string out = "ranks ";
  for (std::int64_t i = 0; i < std::min<std::int64_t>(blocks, 3); ++i) {
    out += (i == 0 ? "" : ", ") + range(first + i * period, stride);
  }
  if (blocks > 4) out += ", ...";
  if (blocks > 3) out += ", " + range(first + (blocks - 1) * period, stride);
  return out;
}

/// By lane, the label of the compute task that runs at the moment of its memory peak; "" where none
/// does. One walk for all lanes: there may be thousands of them and millions of tasks.
std::vector<std::string> at_peaks(const sim::Prediction& prediction) {
  const auto& graph = prediction.graph;
  const auto& timeline = prediction.timeline;
  std::vector<std::string> labels(graph.lanes.size());
  std::vector<const sim::MemoryPeak*> sought(graph.lanes.size(), nullptr);
  for (const sim::MemoryPeak& peak : prediction.result.memory) {
    sought.at(static_cast<std::size_t>(peak.lane)) = &peak;
  }
  for (std::size_t t = 0; t < graph.tasks.size() && t < timeline.start.size(); ++t) {
    const sim::Task& task = graph.tasks[t];
    const sim::MemoryPeak*& peak = sought[task.lane];
    if (task.stream != sim::Stream::Compute || peak == nullptr) continue;
    if (timeline.start[t] > peak->at_seconds || peak->at_seconds >= timeline.finish[t]) continue;
    labels[task.lane] = sim::task_label(prediction, static_cast<sim::TaskId>(t));
    peak = nullptr;
  }
  return labels;
}

/// Where modules share or divide the ranks: what stands on those of the lane.
RankClass describe_module_lane(const sim::Prediction& prediction, std::size_t lane_index) {
  const models::Plan& plan = prediction.plan;
  const sim::Lane& lane = prediction.graph.lanes.at(lane_index);
  RankClass out;
  out.pipeline_rank = static_cast<int>(lane_index % plan.pipeline.size());
  out.stages = sim::stages_of(prediction.program, out.pipeline_rank);
  out.ranks = "rank " + std::to_string(lane.representative);
  if (lane.members > 1) out.ranks += " and " + std::to_string(lane.members - 1) + " like it";
  std::string last;
  for (const int s : out.stages) {
    const models::Stage& stage = plan.stages[static_cast<std::size_t>(s)];
    const std::string& part = plan.meshes[static_cast<std::size_t>(stage.mesh)].part;
    if (part != last) out.ends += (out.ends.empty() ? "" : ", ") + part;
    last = part;
  }
  return out;
}

std::string describe_optimizer(const models::OptimizerChoice& optimizer) {
  return optimizer.name + ", " + std::string(models::to_text(optimizer.master)) + " master, " +
         std::string(models::to_text(optimizer.states)) + " states";
}

}  // namespace

std::string shell_word(std::string_view word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c >= 128 ||
           std::string_view("_-./=,:+@%^").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string run_command(const std::string& file, const std::vector<std::string>& set,
                        const std::string& engine_words) {
  std::string out = "paceline run " + shell_word(file);
  for (const std::string& item : set) out += " --set " + shell_word(item);
  return out + " " + engine_words;
}

RankClass describe_lane(const sim::Prediction& prediction, std::size_t lane_index) {
  const models::Plan& plan = prediction.plan;
  const sim::Lane& lane = prediction.graph.lanes.at(lane_index);
  const models::MeshAxis pipeline =
      plan.meshes.empty() ? models::MeshAxis{"pp", 1, 1} : plan.meshes.front().axis("pp");
  RankClass out;
  if (plan.modules.size() > 1) return describe_module_lane(prediction, lane_index);
  const int stride = std::max(pipeline.stride, 1), size = std::max(pipeline.size, 1);
  // Without a pipeline the block is the whole job.
  const models::MeshAxis blocks =
      size == 1 ? models::MeshAxis{"pp", 1, std::max(plan.world_size, 1)} : pipeline;
  out.ranks = describe_ranks(blocks, plan.world_size, lane);
  out.pipeline_rank = size == 1 ? 0 : lane.representative / stride % size;
  bool embedding = false, head = false;
  out.stages = sim::stages_of(prediction.program, out.pipeline_rank);
  for (const int s : out.stages) {
    embedding |= plan.stages[static_cast<std::size_t>(s)].embedding;
    head |= plan.stages[static_cast<std::size_t>(s)].head;
  }
  if (embedding) out.ends = "embedding";
  if (head) out.ends += embedding ? " and head" : "head";
  return out;
}

std::string to_text(const RankClass& rank_class) {
  std::string out = rank_class.ranks;
  if (!rank_class.stages.empty()) {
    out += rank_class.stages.size() == 1 ? ", stage" : ", stages";
    const std::size_t shown = std::min<std::size_t>(rank_class.stages.size(), 6);
    for (std::size_t i = 0; i < shown; ++i) out += " " + std::to_string(rank_class.stages[i]);
    if (shown < rank_class.stages.size()) out += " ...";
  }
  if (!rank_class.ends.empty()) out += " (" + rank_class.ends + ")";
  return out;
}

std::string describe_machine(const models::Cluster& cluster) {
  std::string out;
  for (const models::NodeGroup& group : cluster.groups) {
    if (!out.empty()) out += " + ";
    out += std::to_string(group.nodes) + (group.nodes == 1 ? " node x " : " nodes x ") +
           std::to_string(group.devices_per_node) + " " + group.device.name;
  }
  if (!cluster.name.empty()) out += " (" + cluster.name + ")";
  return out;
}

std::string describe_recompute(const models::Scenario& scenario) {
  if (scenario.recompute_parts.any()) {
    std::string parts = scenario.recompute == models::Recompute::Selective ? "core" : "";
    const auto add = [&](bool on, const char* name) {
      if (on) parts += (parts.empty() ? "" : ", ") + std::string(name);
    };
    add(scenario.recompute_parts.norms, "norms");
    add(scenario.recompute_parts.activation, "activation");
    return parts;
  }
  switch (scenario.recompute) {
    case models::Recompute::None:
      return "none";
    case models::Recompute::Selective:
      return "selective";
    case models::Recompute::Full:
      return "full";
    case models::Recompute::Blockwise:
      return "blockwise (" + std::to_string(scenario.recompute_layers) + " layers per stage)";
  }
  return "none";
}

const sim::MemoryPeak* fullest(const sim::Result& result) {
  const sim::MemoryPeak* best = nullptr;
  const auto share = [](const sim::MemoryPeak& p) {
    return p.capacity_bytes > 0 ? p.reserved_bytes / p.capacity_bytes : p.reserved_bytes;
  };
  for (const sim::MemoryPeak& peak : result.memory) {
    if (best == nullptr || share(peak) > share(*best)) best = &peak;
  }
  return best;
}

Answer make_answer(const models::Scenario& scenario, const sim::Prediction& prediction,
                   std::string command) {
  Answer answer;
  answer.version = PACELINE_VERSION;
  answer.command = std::move(command);
  answer.scenario = scenario.name;
  answer.file = scenario.file;
  answer.hash = scenario.hash;
  answer.stack = scenario.stack.name;
  for (const models::Profile& profile : scenario.profiles) answer.profiles.push_back(profile.name);
  answer.model = scenario.model.name;
  answer.parameters = models::total_parameters(scenario.model);
  if (scenario.modules.size() > 1) {
    answer.model.clear();
    answer.parameters = 0;
  }
  for (const models::Module& m : scenario.modules) {
    if (scenario.modules.size() == 1) break;
    answer.model += (answer.model.empty() ? "" : " + ") + m.name;
    answer.parameters += models::total_parameters(m.view->model);
  }
  answer.machine = describe_machine(scenario.cluster);
  answer.devices = prediction.plan.world_size;
  answer.parallel = scenario.parallel;
  answer.schedule = scenario.schedule;
  answer.batch = scenario.batch;
  answer.precision = models::to_text(scenario.precision);
  answer.recompute = describe_recompute(scenario);
  answer.attention = scenario.attention;
  answer.optimizer = describe_optimizer(scenario.optimizer);
  answer.result = prediction.result;
  const std::vector<std::string> labels = at_peaks(prediction);
  for (const sim::MemoryPeak& peak : answer.result.memory) {
    const auto lane = static_cast<std::size_t>(peak.lane);
    answer.classes.push_back(describe_lane(prediction, lane));
    answer.classes.back().at = labels[lane];
  }
  return answer;
}

}  // namespace paceline::reports
