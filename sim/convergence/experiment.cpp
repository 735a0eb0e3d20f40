// SPDX-License-Identifier: Apache-2.0
#include "sim/convergence/experiment.hpp"

#include <array>

#include "base/table.hpp"

namespace paceline::sim::convergence {

std::span<const ExperimentKind> experiment_kinds() {
  static constexpr std::array kKinds{
#define PACELINE_EXPERIMENT(function, name, summary) ExperimentKind{name, summary, &function},
#include "sim/convergence/experiments/list.def"
#undef PACELINE_EXPERIMENT
  };
  return kKinds;
}

Experiment read_experiment(base::Fields& fields) {
  const std::string name = fields.text("kind");
  return base::find(experiment_kinds(), name, fields.where("kind"), "experiment").read(fields);
}

}  // namespace paceline::sim::convergence
