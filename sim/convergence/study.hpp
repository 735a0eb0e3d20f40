// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "sim/convergence/experiment.hpp"
#include "sim/convergence/expression.hpp"
#include "sim/convergence/method.hpp"

/// STUDY.yaml (docs/formats.md, Convergence study).
namespace paceline::sim::convergence {

/// What steps and exchanges of a method cost on a simulated machine.
struct Clock {
  std::string scenario;         ///< file; empty: the numbers stand in the study
  double step_seconds = 0;      ///< 0: unknown
  double exchange_seconds = 0;  ///< that nothing hides
  double bytes_scale = 1;       ///< bytes of the real job for one of the experiment
  double price_per_second = 0;  ///< of the whole job; 0: unknown
};

/// One combination that is trained.
struct Cell {
  std::string name;  ///< of its parts that there are several of: "batch-128.late.adamw"
  std::size_t objective = 0, method = 0, optimizer = 0;
  Training training;                   ///< without rate and seed
  std::vector<double> rates;           ///< ascending
  std::optional<std::size_t> rate_of;  ///< takes the rate that is best for this cell
};

template <class T>
struct Named {
  std::string name;
  T value;
};

/// `that`, evaluated for each seed, has a median within the bounds; where `seeds` is given, so it
/// has in at least so many of them.
struct Expectation {
  Expression that;
  std::optional<double> least, most;
  int seeds = 0;
  std::string says;
};

struct Study {
  std::string name, note, hash;
  std::vector<std::uint64_t> seeds;
  std::vector<Named<ObjectiveMaker>> objectives;
  std::vector<Named<Method>> methods;
  std::vector<Named<Optimizer>> optimizers;
  std::vector<Clock> clocks;  ///< by method
  std::vector<Cell> cells;
  std::vector<Named<Experiment>> experiments;
  std::vector<Expectation> expectations;
};

Study read_study(const std::string& file);
Study read_study(const base::Document& document);

}  // namespace paceline::sim::convergence
