// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

namespace paceline::sim {

/// Seconds of a stage that holds the layers from `begin` to before `end`; no less with more layers.
using StageSeconds = std::function<double(int stage, int begin, int end)>;

/// Layers of each stage, at least one, so that the longest stage is as short as it can be: dynamic
/// programming over stages and where they begin. Of equal cuts the last stage of each part of the
/// pipeline has the fewest layers. 1 <= stages <= layers.
std::vector<int> minimax_layers(int layers, int stages, const StageSeconds& seconds);

}  // namespace paceline::sim
