// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/groups.hpp"

#include <algorithm>
#include <set>

namespace paceline::kernels::train {
namespace {

int digit(int number, const models::MeshAxis& axis) { return number / axis.stride % axis.size; }

std::optional<Communicator> group_of(const Communicator& world, std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  const bool member = std::binary_search(ranks.begin(), ranks.end(), world.rank());
  if (ranks.size() < 2 || !member) return std::nullopt;
  return group(world, ranks);
}

}  // namespace

Place place_of(const models::Mesh& mesh, int rank) {
  const int number = rank - mesh.first_rank;
  return {digit(number, mesh.axis("tp")), digit(number, mesh.axis("dp")),
          digit(number, mesh.axis("pp"))};
}

int rank_of(const models::Mesh& mesh, const Place& place) {
  return mesh.first_rank + place.tensor * mesh.axis("tp").stride +
         place.data * mesh.axis("dp").stride + place.pipeline * mesh.axis("pp").stride;
}

// All ranks go through the groups in the same order, so that nobody waits in a circle.
Groups make_groups(const Communicator& world, const models::Mesh& mesh,
                   const sim::Placement& placement) {
  const Place own = place_of(mesh, world.rank());
  Groups groups;
  std::vector<int> ranks;
  for (int t = 0; t < mesh.axis("tp").size; ++t)
    ranks.push_back(rank_of(mesh, {t, own.data, own.pipeline}));
  groups.tensor = group_of(world, ranks);
  for (std::size_t stage = 0; stage < placement.ranks.size(); ++stage) {
    ranks.clear();
    for (const int pipeline : placement.ranks[stage])
      for (int d = 0; d < mesh.axis("dp").size; ++d)
        ranks.push_back(rank_of(mesh, {own.tensor, d, pipeline}));
    if (std::optional<Communicator> made = group_of(world, ranks))
      groups.copies.emplace(static_cast<int>(stage), std::move(*made));
  }
  std::set<int> ends(placement.ranks.front().begin(), placement.ranks.front().end());
  ends.insert(placement.ranks.back().begin(), placement.ranks.back().end());
  ranks.clear();
  for (const int pipeline : ends) ranks.push_back(rank_of(mesh, {own.tensor, own.data, pipeline}));
  groups.ends = group_of(world, ranks);
  return groups;
}

}  // namespace paceline::kernels::train
