// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/scenario/scenario.hpp"

/// Ways to lay out one job.
namespace paceline::sim {

/// What is recomputed; of Blockwise a share of the layers of a stage, in percent.
struct RecomputeWay {
  models::Recompute kind = models::Recompute::None;
  int percent = 0;
  bool operator==(const RecomputeWay&) const = default;
};

/// Values a search crosses, a list for each dimension, in the order they are tried in.
struct SearchSpace {
  std::vector<int> devices;  ///< that the job uses; dp is what tp, pp and cp leave of them
  std::vector<std::string> order{"tp-cp-ep-dp-pp"};
  std::vector<int> tp, cp, pp, ep, etp;
  std::vector<bool> sequence_parallel;
  std::vector<std::int64_t> micro;
  std::vector<std::string> schedule;
  std::vector<int> chunks;
  /// False: the stack's partition of layers; true: the one with the shortest longest stage.
  std::vector<bool> balanced;
  std::vector<RecomputeWay> recompute;
  std::vector<int> zero;
  std::vector<double> offload;  ///< share of the activations that leave the device
  std::vector<models::OptimizerDevice> optimizer;
};

/// One point of a space.
struct Layout {
  int devices = 1;
  std::string_view order;  ///< into the space
  int tp = 1, cp = 1, pp = 1, ep = 1, etp = 1;
  bool sequence_parallel = false;
  std::int64_t micro = 1;
  std::string_view schedule;  ///< into schedules()
  int chunks = 1;
  bool balanced = false;
  RecomputeWay recompute;
  int zero = 0;
  double offload = 0;
  models::OptimizerDevice optimizer = models::OptimizerDevice::Gpu;
  int dp() const { return devices / (tp * cp * pp); }
};

/// Degrees that the model's heads, layers and experts and the cluster allow; schedules 1f1b,
/// interleaved-1f1b and the scenario's own; recomputation of none, selective, blockwise and full;
/// ZeRO 0 to 3. What is left (offloading, where the optimizer runs, the order of the axes) is as in
/// the scenario. `full`: those too, and all schedules that flush.
SearchSpace search_space(const models::Scenario& scenario, bool full);

/// "pp=1,2,4" (layers=stack,balanced; recompute=none,blockwise-50): replaces the values of a
/// dimension. base::Error names the dimensions, or what a value of one looks like.
void vary(SearchSpace& space, const models::Scenario& scenario, const std::string& text);

/// How many combinations there are, whether they divide or not.
double combinations(const SearchSpace& space);

/// Sets the scenario's layout. What is varied with the model, the cluster and the batch stays.
void apply(const Layout& layout, models::Scenario& scenario);

/// The scenario's own layout where every value of it is in the space; nothing too where it says
/// which layers each stage has.
std::optional<Layout> own_layout(const models::Scenario& scenario, const SearchSpace& space);

/// Layers of a stage that a blockwise layout recomputes, at least one.
int recomputed_layers(const RecomputeWay& way, int most_layers);

/// `path=value` words that make the layout of the scenario `base`, for `--set`; `laid_out` is what
/// `apply` and a cut of the layers made of it.
std::vector<std::string> settings(const Layout& layout, const models::Scenario& laid_out,
                                  const models::Scenario& base);

std::string to_text(const RecomputeWay& way);  ///< none, selective, blockwise-50, full

}  // namespace paceline::sim
