// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>

#include "kernels/collective/communicator.hpp"
#include "models/parallel/plan.hpp"
#include "sim/placement.hpp"

namespace paceline::kernels::train {

/// Where a rank stands in the mesh of a dense model.
struct Place {
  int tensor = 0, data = 0, pipeline = 0;
};
Place place_of(const models::Mesh& mesh, int rank);
int rank_of(const models::Mesh& mesh, const Place& place);

/// Groups that a rank sums in; none where it would be alone.
struct Groups {
  std::optional<Communicator> tensor;
  /// By stage it holds: all ranks that hold the same part of the stage's parameters, in every
  /// replica and, where a stage has several copies, in every copy.
  std::map<int, Communicator> copies;
  /// Ranks that hold the first or the last stage of this replica.
  std::optional<Communicator> ends;
};

/// Makes them; every rank of `world` calls it.
Groups make_groups(const Communicator& world, const models::Mesh& mesh,
                   const sim::Placement& placement);

}  // namespace paceline::kernels::train
