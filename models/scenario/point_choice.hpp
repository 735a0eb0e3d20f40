// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "models/scenario/sweep.hpp"

namespace paceline::models {

/// Largest grid that points are drawn from.
inline constexpr std::size_t kMaxSampledGrid = std::size_t{1} << 50;

/// Which points of a grid: `count` of them drawn at random, or as a Latin hypercube (each value of
/// an axis as often as the others, McKay, Beckman, Conover, Technometrics 21, 1979); of those the
/// ones that meet every condition. `count` 0: all.
struct PointChoice {
  std::size_t count = 0;
  bool latin = false;
  std::uint64_t seed = 1;
  std::vector<std::string> where;  ///< models/scenario/condition.hpp; names are paths or their ends
};

/// "random:100", "latin:100"; base::Error otherwise.
PointChoice parse_sample(const std::string& text);

/// Keeps the chosen points, in the order of the grid. base::Error for a condition that cannot be
/// read, or when none meets them all.
void choose_points(Sweep& sweep, const PointChoice& choice);

}  // namespace paceline::models
