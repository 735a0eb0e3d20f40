// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "models/parallel/boundary.hpp"
#include "models/parallel/plan.hpp"

/// Where the modules of a model lie: pools of ranks, one for every module that has ranks of its
/// own.
namespace paceline::models {
namespace {

using base::Error;

const Scenario& view_of(const Scenario& s, int module) {
  return *s.modules[static_cast<std::size_t>(module)].view;
}
const Parallel& layout_of_module(const Scenario& s, int module) {
  return view_of(s, module).parallel;
}
std::string ranks_text(const Parallel& p) {
  return "ranks " + std::to_string(p.first_rank) + " to " +
         std::to_string(p.first_rank + p.world_size() - 1);
}

/// Modules that do not say so share no ranks.
void check_pools(const Scenario& s) {
  for (std::size_t i = 0; i < s.modules.size(); ++i) {
    const Module& a = s.modules[i];
    const Parallel& pa = a.view->parallel;
    if (pa.first_rank + pa.world_size() > s.cluster.devices())
      throw Error(where(*a.view, "parallel.dp"),
                  "module " + a.name + " takes " + ranks_text(pa) + ", the cluster has " +
                      std::to_string(s.cluster.devices()) + " devices",
                  "smaller degrees or first_rank");
    for (std::size_t k = 0; k < i; ++k) {
      const Module& b = s.modules[k];
      const Parallel& pb = b.view->parallel;
      const bool apart = pa.first_rank >= pb.first_rank + pb.world_size() ||
                         pb.first_rank >= pa.first_rank + pa.world_size();
      if (a.host >= 0 || b.host >= 0 || apart) continue;
      throw Error(where(*a.view, "parallel.dp"),
                  "modules " + b.name + " and " + a.name + " overlap: " + ranks_text(pb) + " and " +
                      ranks_text(pa),
                  "colocated_with: " + b.name + ", or first_rank: " +
                      std::to_string(pb.first_rank + pb.world_size()) + " of " + a.name);
    }
  }
}

/// Pipeline ranks of the host whose devices the module takes.
std::vector<int> shared_ranks(const Scenario& s, const Module& m) {
  const Parallel& own = m.view->parallel;
  const Mesh host = lay_out_one(view_of(s, m.host)).meshes.front();
  const MeshAxis pipeline = host.axis("pp");
  std::vector<int> held(static_cast<std::size_t>(pipeline.size), 0);
  for (int r = 0; r < host.ranks(); ++r) {
    const int device = host.first_rank + r;
    if (device >= own.first_rank && device < own.first_rank + own.world_size())
      ++held[static_cast<std::size_t>(r / pipeline.stride % pipeline.size)];
  }
  const int members = host.ranks() / pipeline.size;
  std::vector<int> ranks;
  for (int r = 0; r < pipeline.size; ++r)
    if (held[static_cast<std::size_t>(r)] > 0) ranks.push_back(r);
  const bool inside = std::accumulate(held.begin(), held.end(), 0) == own.world_size();
  const bool whole =
      std::all_of(held.begin(), held.end(), [&](int n) { return n == 0 || n == members; });
  if (inside && whole) return ranks;
  throw Error(where(*m.view, "parallel.dp"),
              "module " + m.name + " takes " + ranks_text(own) + " of " +
                  s.modules[static_cast<std::size_t>(m.host)].name + ", which has stages of " +
                  std::to_string(members) + " ranks from " + std::to_string(host.first_rank),
              "tp*cp*dp of " + std::to_string(members) + " or a multiple, up to " +
                  std::to_string(host.ranks()));
}

void check_guest(const Scenario& s, const Module& m, std::size_t copies) {
  const Module& host = s.modules[static_cast<std::size_t>(m.host)];
  if (host.host >= 0)
    throw Error(where(*m.view, "model"),
                "module " + m.name + " is colocated with " + host.name +
                    ", which has no ranks of "
                    "its own",
                "colocated_with: " + s.modules[static_cast<std::size_t>(host.host)].name);
  if (m.view->parallel.pp > 1)
    throw Error(where(*m.view, "parallel.pp"),
                "module " + m.name + " has pp above 1 on ranks of another module",
                "pp: 1, or ranks of its own");
  if (copies > 1 && m.turns == Turns::EachMicrobatch)
    throw Error(where(*m.view, "model"),
                "module " + m.name + " stands on several stages of " + host.name +
                    " and cannot take turns with each of them",
                "turns: whole-batch, or ranks of the first stage only");
  if (copies > 1 && m.view->parallel.zero >= 2)
    throw Error(where(*m.view, "parallel.dp"),
                "zero 2 and 3 of a module on several stages of another are not timed",
                "zero: 0 or 1");
}

/// Steps from the module to the main one.
int depth(const Scenario& s, std::size_t module) {
  int steps = 0;
  for (int at = s.modules[module].feeds; at >= 0;
       at = s.modules[static_cast<std::size_t>(at)].feeds)
    ++steps;
  return steps;
}

/// What one module hands to another on shared ranks must be made where it is needed.
void check_shared_ends(const Scenario& s, const std::vector<ModulePlace>& places, std::size_t i) {
  const Module& from = s.modules[i];
  const auto to = static_cast<std::size_t>(from.feeds);
  const Module& reader = s.modules[to];
  const auto pool = [&](std::size_t m) {
    return s.modules[m].host < 0 ? static_cast<int>(m) : s.modules[m].host;
  };
  if (pool(i) != pool(to)) return;
  const std::vector<int> made =
      from.host < 0 ? std::vector<int>{places[i].ranks.back()} : places[i].ranks;
  const std::vector<int> needed =
      reader.host < 0 ? std::vector<int>{places[to].ranks.front()} : places[to].ranks;
  const bool same = std::all_of(needed.begin(), needed.end(), [&](int rank) {
    return std::find(made.begin(), made.end(), rank) != made.end();
  });
  if (same) return;
  throw Error(where(*from.view, "parallel.dp"),
              "module " + from.name + " and the first stage of " + reader.name +
                  " stand on different ranks of one pool",
              "ranks that both have, or a pool of its own");
}

void check_microbatches(const Scenario& s, const Plan& plan) {
  for (std::size_t i = 0; i < s.modules.size(); ++i) {
    const int count = plan.modules[i].microbatches;
    if (plan.microbatches % count == 0) continue;
    throw Error(where(*s.modules[i].view, "batch.micro"),
                "module " + s.modules[i].name + " has " + std::to_string(count) +
                    " microbatches a step, which do not divide the " +
                    std::to_string(plan.microbatches) + " of another module",
                "a micro or dp that makes them divide");
  }
}

}  // namespace

std::vector<ModulePlace> module_places(const Scenario& s, const Plan& plan) {
  std::vector<ModulePlace> places(s.modules.size());
  int next = 0;
  for (std::size_t i = 0; i < s.modules.size(); ++i) {
    if (s.modules[i].host >= 0) continue;
    for (int r = 0; r < layout_of_module(s, static_cast<int>(i)).pp; ++r)
      places[i].ranks.push_back(next++);
  }
  for (std::size_t i = 0; i < s.modules.size(); ++i) {
    const Module& m = s.modules[i];
    if (m.host < 0) continue;
    const int base = places[static_cast<std::size_t>(m.host)].ranks.front();
    for (const int r : shared_ranks(s, m)) places[i].ranks.push_back(base + r);
  }
  for (std::size_t k = plan.stages.size(); k-- > 0;)
    places[static_cast<std::size_t>(plan.stages[k].mesh)].first_stage = static_cast<int>(k);
  return places;
}

Plan lay_out_modules(const Scenario& s) {
  check_pools(s);
  Plan plan;
  for (const Module& m : s.modules) {
    plan.modules.push_back(lay_out_one(*m.view));
    Mesh mesh = plan.modules.back().meshes.front();
    if (s.modules.size() > 1) mesh.part = m.name;
    plan.meshes.push_back(mesh);
    plan.microbatches = std::max(plan.microbatches, plan.modules.back().microbatches);
  }
  check_microbatches(s, plan);
  for (std::size_t i = 0; i < s.modules.size(); ++i) {
    if (s.modules[i].host >= 0) continue;
    const auto& own = plan.modules[i].pipeline;
    plan.pipeline.insert(plan.pipeline.end(), own.begin(), own.end());
  }
  std::vector<std::size_t> order(s.modules.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return depth(s, a) > depth(s, b); });
  const std::vector<ModulePlace> places = module_places(s, plan);
  for (const std::size_t i : order) {
    const Module& m = s.modules[i];
    if (m.host >= 0) check_guest(s, m, places[i].ranks.size());
    const std::size_t copies = m.host >= 0 ? places[i].ranks.size() : 1;
    for (std::size_t copy = 0; copy < copies; ++copy) {
      for (Stage stage : plan.modules[i].stages) {
        stage.mesh = static_cast<int>(i);
        plan.stages.push_back(stage);
      }
    }
  }
  const Plan& main = plan.modules[order.back()];
  plan.tokens = main.tokens;
  plan.world_size = used_devices(s);
  plan.members_per_lane = main.members_per_lane;
  for (std::size_t i = 0; i < s.modules.size(); ++i)
    if (s.modules[i].feeds >= 0) {
      check_shared_ends(s, places, i);
      check_boundary(s, static_cast<int>(i));
    }
  return plan;
}

}  // namespace paceline::models
