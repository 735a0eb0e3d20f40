// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "base/config.hpp"

/// A sweep: one scenario, and lists of values for some of its paths.
namespace paceline::models {

/// `--over parallel.tp=1,2,4`.
struct SweepAxis {
  std::string path;
  std::vector<std::string> values;  ///< YAML, as written
};

inline constexpr std::size_t kMaxSweepPoints = 1'000'000;

struct Sweep {
  base::Document base;  ///< of the scenario, before any axis
  std::vector<SweepAxis> axes;
  bool zip = false;        ///< k-th values of all axes together, else each with each
  std::size_t points = 0;  ///< numbered with the last axis changing fastest
  /// Places in the grid of the points there are, ascending; empty: all (point_choice.hpp).
  std::vector<std::size_t> chosen = {};
};

/// `path=a,b,c`; commas within brackets, braces and quotes belong to a value. base::Error for a
/// text without path or values, and for an empty or repeated value.
SweepAxis parse_axis(const std::string& text);

/// base::Error when nothing varies, a path is named twice or inside another one, lists that are
/// zipped differ in length, there are more than `most` points, a value is no YAML, or a path
/// leads through a value of the scenario.
Sweep make_sweep(base::Document scenario, std::vector<SweepAxis> axes, bool zip,
                 std::size_t most = kMaxSweepPoints);

/// The values at a place of the grid, and of a point, by axis.
std::vector<std::string> grid_values(const Sweep& sweep, std::size_t place);
std::vector<std::string> point_values(const Sweep& sweep, std::size_t point);
/// The same as --set takes them: `parallel.tp=4`.
std::vector<std::string> point_settings(const Sweep& sweep, std::size_t point);
/// The scenario of a point, for read_scenario.
base::Document point_document(const Sweep& sweep, std::size_t point);

/// Finds out, before anything runs, what is wrong with all points alike: base::Error for a path
/// that no value of the other axes makes known, and for an error of the scenario that no axis
/// mends. Looks at the scenario alone and at points that differ from the first in one axis.
void check_sweep(const Sweep& sweep);

}  // namespace paceline::models
