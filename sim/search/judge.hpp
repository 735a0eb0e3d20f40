// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/scenario/scenario.hpp"
#include "sim/search/search.hpp"

namespace paceline::sim {

/// The objective of a step, and the limits. Keeps references to what it is made of.
class Judge {
 public:
  /// base::Error where the objective or a limit needs what the scenario does not say.
  Judge(const models::Scenario& scenario, const SearchOptions& options);
  /// The least value with a step of so many seconds.
  double value_of(double seconds, int devices) const;
  double value_of(const Result& result) const;
  /// Of a step of at least so many seconds: beyond a limit on the run.
  bool beyond_run(double seconds, int devices) const;
  bool beyond_run(const Result& result) const;
  bool beyond_memory(double bytes) const { return bytes > memory_limit(); }
  bool beyond_memory(const Result& result) const;
  /// Memory first.
  Verdict verdict(const Result& result) const;
  /// Bytes a device.
  double memory_limit() const;
  bool wants_energy() const;

 private:
  bool energy_known() const;
  double money_of(double seconds, int devices) const;
  double least_watts() const;

  const models::Scenario& s_;
  const SearchOptions& options_;
  double run_steps_ = 0;
};

}  // namespace paceline::sim
