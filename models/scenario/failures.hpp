// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/config.hpp"
#include "base/units.hpp"

/// What breaks during a run and how it goes on, `failures` of the scenario.
namespace paceline::models {

/// How a checkpoint is saved.
enum class CheckpointMode : std::uint8_t {
  Blocking,    ///< the job stands still until the storage has all of it
  Background,  ///< until the hosts have it; they write it beside the steps (DataStates-LLM,
               ///< arXiv 2406.10707)
  Memory,      ///< until the hosts have it, where a restart finds it (Gemini, SOSP 2023)
};

struct FailureSettings {
  // Mean times between failures of one part, s; 0: it does not fail.
  double device_mtbf = 0, node_mtbf = 0, job_mtbf = 0;
  double shape = 1;    ///< of the Weibull law of the times between; below 1: in bunches
  double detect = 0;   ///< s until the job knows
  double restart = 0;  ///< s from there until steps go on
  CheckpointMode mode = CheckpointMode::Blocking;
  double every = 0;    ///< s of work between checkpoints; 0: Daly's optimum
  double storage = 0;  ///< bytes/s that the storage takes from the whole job
  int runs = 200;      ///< sampled
  std::uint64_t seed = 1;
};

///   failures: {device_mtbf: 50000 h, node_mtbf: 20000 h, restart: 5 min,
///              checkpoints: {mode: background, storage: 100 GB/s}}
/// At least one mtbf; a restart. base::Error for a time that is not above 0.
FailureSettings read_failures(base::Fields fields);

}  // namespace paceline::models
