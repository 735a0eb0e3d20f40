// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/config.hpp"

/// Questions that are no training runs: named figures from a seed.
namespace paceline::sim::convergence {

using Figures = std::vector<std::pair<std::string, double>>;
/// The same names for every seed.
using Experiment = std::function<Figures(std::uint64_t seed, const std::atomic<bool>& stop)>;

struct ExperimentKind {
  std::string_view name, summary;
  Experiment (*read)(base::Fields& fields);
};
std::span<const ExperimentKind> experiment_kinds();

#define PACELINE_EXPERIMENT(function, name, summary) Experiment function(base::Fields& fields);
#include "sim/convergence/experiments/list.def"
#undef PACELINE_EXPERIMENT

Experiment read_experiment(base::Fields& fields);

}  // namespace paceline::sim::convergence
