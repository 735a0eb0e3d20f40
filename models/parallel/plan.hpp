// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/scenario/scenario.hpp"

namespace paceline::models {

/// One axis of a mesh; the stride is the distance of neighbours in ranks.
struct Axis {
  std::string name;  ///< tp, cp, ep, dp, pp
  int size = 1;
  int stride = 1;
};

/// The ranks of one part of the model (attention, experts, a module) in ordered axes, innermost
/// first. Groups are derived: all ranks that differ in one axis only. A dense model has one mesh.
struct Mesh {
  std::string part;
  int first_rank = 0;
  std::vector<Axis> axes;
  int ranks() const;
  Axis axis(std::string_view name) const;  ///< size 1, stride 1 when the mesh lacks it
};

/// Layers [first, first + count) of the model, with the ends it holds.
struct Stage {
  int first_layer = 0;
  int layers = 0;
  bool embedding = false;
  bool head = false;
  int mesh = 0;
};

/// Where everything lies: the answer to "which rank holds what", before any time is known.
struct Plan {
  std::vector<Mesh> meshes;
  std::vector<Stage> stages;       ///< pp*chunks, in model order; stage s runs on pipeline rank s % pp
  int microbatches = 1;            ///< per replica and step
  double tokens = 0;               ///< of one microbatch on one rank (after cp)
  int world_size = 1;
  /// How many ranks one simulated lane stands for (tp*cp*dp of a dense mesh).
  std::int64_t members_per_lane = 1;
};

/// Checks divisibility and builds the plan; anything that does not divide is an Error naming the
/// scenario's key and the values that would.
Plan make_plan(const Scenario& scenario);

}  // namespace paceline::models
