// SPDX-License-Identifier: Apache-2.0
#include "models/parallel/plan.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "models/parallel/plan_checks.hpp"
#include "models/workload/layer_ops.hpp"

namespace paceline::models {
namespace {

using base::Error;
using namespace detail;

/// Layers of each stage by the stack's rule.
std::vector<int> deal_layers(const Scenario& s, int layers, int stages) {
  std::vector<int> out(static_cast<std::size_t>(stages), layers / stages);
  const int rest = layers % stages;
  if (rest == 0) return out;
  if (s.stack.partition == Partition::EmbeddingAndHead && (layers + 2) % stages == 0 &&
      stages > 1) {
    std::fill(out.begin(), out.end(), (layers + 2) / stages);
    out.front() -= 1;
    out.back() -= 1;
    return out;
  }
  if (s.schedule.chunks > 1) {
    throw Error(where(s, "schedule.chunks"),
                std::to_string(s.schedule.chunks) + " chunks of " + std::to_string(s.parallel.pp) +
                    " stages do not divide " + std::to_string(layers) + " layers",
                "try pp*chunks = " + divisors(layers) + ", or parallel.stage_layers");
  }
  const int ceil = layers / stages + 1;
  const bool leaves_empty = (stages - 1) * ceil >= layers;
  if (s.stack.partition == Partition::Balanced || leaves_empty) {
    for (int i = 0; i < rest; ++i) ++out[static_cast<std::size_t>(i)];
    return out;
  }
  // Ceil first: the last stage takes what is left.
  int left = layers;
  for (int& n : out) {
    n = std::min(ceil, left);
    left -= n;
  }
  return out;
}

std::vector<int> stage_layers(const Scenario& s) {
  const int layers = static_cast<int>(s.model.layers.size());
  const std::int64_t stages = std::int64_t{s.parallel.pp} * s.schedule.chunks;
  const bool ends_count = s.stack.partition == Partition::EmbeddingAndHead &&
                          (layers + 2) % stages == 0;  // a stage may hold an end alone
  if (stages > layers && !ends_count && s.parallel.stage_layers.empty() && !s.costs) {
    throw Error(where(s, "parallel.pp"),
                "pp*chunks = " + std::to_string(stages) + " stages for " + std::to_string(layers) +
                    " layers",
                "at most one stage per layer");
  }
  if (s.parallel.stage_layers.empty()) return deal_layers(s, layers, static_cast<int>(stages));
  const std::vector<int>& given = s.parallel.stage_layers;
  if (static_cast<std::int64_t>(given.size()) != stages) {
    throw Error(where(s, "parallel.stage_layers"),
                "has " + std::to_string(given.size()) + " entries",
                "pp*chunks = " + std::to_string(stages) + " are needed");
  }
  const std::int64_t sum = std::accumulate(given.begin(), given.end(), std::int64_t{0});
  if (sum != layers) {
    throw Error(where(s, "parallel.stage_layers"), "adds up to " + std::to_string(sum),
                "the model has " + std::to_string(layers) + " layers");
  }
  return given;
}

Mesh make_mesh(const Scenario& s) {
  Mesh mesh;
  mesh.part = "model";
  mesh.first_rank = s.parallel.first_rank;
  int stride = 1;
  for (const std::string& name : s.parallel.order) {
    const int size = name == "tp"   ? s.parallel.tp
                     : name == "cp" ? s.parallel.cp
                     : name == "dp" ? s.parallel.dp
                     : name == "pp" ? s.parallel.pp
                                    : 1;
    mesh.axes.push_back({name, size, stride});
    stride *= size;
  }
  return mesh;
}

/// The same ranks in the axes of the experts, in the order of the attention's: etp stands where tp
/// does, edp where dp does, and what cp leaves joins edp.
Mesh make_expert_mesh(const Scenario& s) {
  Mesh mesh;
  mesh.part = "experts";
  mesh.first_rank = s.parallel.first_rank;
  const int share = s.parallel.ep * s.parallel.etp;
  const int ranks = s.parallel.tp * s.parallel.cp * s.parallel.dp;
  int stride = 1;
  for (const std::string& name : s.parallel.order) {
    if (name == "cp") continue;
    const int size = name == "tp"   ? s.parallel.etp
                     : name == "ep" ? s.parallel.ep
                     : name == "dp" ? ranks / share
                                    : s.parallel.pp;
    mesh.axes.push_back({name == "tp" ? "etp" : name == "dp" ? "edp" : name, size, stride});
    stride *= size;
  }
  return mesh;
}

/// Ranks of one stage are simulated as one: they must sit on one kind of node.
void check_kinds(const Scenario& s) {
  if (s.cluster.groups.size() == 1) return;
  const Mesh mesh = make_mesh(s);
  const MeshAxis pipeline = mesh.axis("pp");
  std::vector<int> kind_of(static_cast<std::size_t>(pipeline.size), -1);
  for (int rank = 0; rank < mesh.ranks(); ++rank) {
    const int kind = static_cast<int>(s.cluster.place_of(mesh.first_rank + rank).group);
    int& stage_kind = kind_of[static_cast<std::size_t>(rank / pipeline.stride % pipeline.size)];
    if (stage_kind < 0) stage_kind = kind;
    if (stage_kind != kind) {
      throw Error(where(s, "cluster"),
                  "ranks of one pipeline stage lie on nodes of different kinds, which this version "
                  "does not time",
                  "choose pp and the order so that every stage stays on one kind");
    }
  }
}

}  // namespace

int Mesh::ranks() const {
  int product = 1;
  for (const MeshAxis& axis : axes) product *= axis.size;
  return product;
}

MeshAxis Mesh::axis(std::string_view name) const {
  for (const MeshAxis& axis : axes) {
    if (axis.name == name) return axis;
  }
  return {std::string(name), 1, 1};
}

const Mesh* expert_mesh(const Plan& plan) {
  if (!plan.modules.empty()) return nullptr;
  const auto found = std::find_if(plan.meshes.begin(), plan.meshes.end(),
                                  [](const Mesh& mesh) { return mesh.part == "experts"; });
  return found == plan.meshes.end() ? nullptr : &*found;
}

std::string_view untimed_part(const Model& model) {
  for (const Layer& layer : model.kinds) {
    if (layer.attention.kind == AttentionKind::Linear) return "linear-attention layers";
  }
  return "";
}

Plan make_plan(const Scenario& s) {
  std::string_view untimed = s.modules.empty() ? untimed_part(s.model) : "";
  for (const Module& m : s.modules)
    if (untimed.empty()) untimed = untimed_part(m.view->model);
  if (untimed.empty()) return lay_out(s);
  throw Error(where(s, "model"), std::string(untimed) + " are not timed by this version",
              "transformers with softmax attention are; `paceline check` shows the shape");
}

Plan lay_out(const Scenario& s) { return s.modules.empty() ? lay_out_one(s) : lay_out_modules(s); }

Plan lay_out_one(const Scenario& s) {
  check_layers(s);
  check_batch(s);
  check_kinds(s);
  Plan plan;
  plan.meshes.push_back(make_mesh(s));
  if (has_experts(s.model)) {
    check_moe(s);
    plan.meshes.push_back(make_expert_mesh(s));
    check_same_stages(s, plan.meshes.front(), plan.meshes.back());
  }
  plan.world_size = s.parallel.world_size();
  plan.members_per_lane = std::int64_t{s.parallel.tp} * s.parallel.cp * s.parallel.dp;
  const std::int64_t microbatches = s.batch.global / s.parallel.dp / s.batch.micro;
  const std::int64_t stages = std::int64_t{s.parallel.pp} * s.schedule.chunks;
  if (microbatches > kMaxActions / stages) {
    throw Error(where(s, "batch.global"),
                std::to_string(microbatches) + " microbatches over " + std::to_string(stages) +
                    " stages are too many to simulate",
                "a smaller batch or a larger batch.micro");
  }
  check_epilogue(s, microbatches);
  plan.microbatches = static_cast<int>(microbatches);
  plan.tokens =
      static_cast<double>(s.batch.micro) * static_cast<double>(s.batch.sequence) / s.parallel.cp;
  int first = 0;
  for (const int layers : stage_layers(s)) {
    plan.stages.push_back({first, layers, false, false, 0});
    first += layers;
  }
  const bool vocabulary = s.model.vocab > 0;  // modules may have none
  plan.stages.front().embedding = vocabulary;
  plan.stages.back().head = vocabulary;
  const int stride = plan.meshes.front().axis("pp").stride;
  for (int r = 0; r < s.parallel.pp; ++r)
    plan.pipeline.push_back({s.parallel.first_rank + r * stride, plan.members_per_lane});
  check_node_limit(s, plan);
  return plan;
}

}  // namespace paceline::models
