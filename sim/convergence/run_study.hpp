// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <vector>

#include "sim/convergence/study.hpp"

/// All runs of a study, on all cores; what comes out depends on the study alone.
namespace paceline::sim::convergence {

struct Spread {
  double median = 0, low = 0, high = 0;  ///< over seeds; infinite where runs diverged
};
Spread spread_of(std::vector<double> values);

struct CellResult {
  double rate = 0;                 ///< the one shown
  bool at_edge = false;            ///< it is the smallest or largest of several tried for this cell
  std::vector<double> tried;       ///< medians by rate; of cells with a rate of their own
  std::vector<Run> runs;           ///< by seed; those that did not run are missing
  std::vector<std::size_t> seeds;  ///< of the runs, as places in Study::seeds
};

struct ExpectationResult {
  std::vector<double> values;  ///< by seed
  Spread spread;
  int held = 0;  ///< seeds whose own value is within the bounds
  bool holds = false;
  bool evaluated = false;  ///< false: something it needs did not run
};

struct StudyResult {
  std::vector<CellResult> cells;
  std::vector<std::vector<Figures>> experiments;  ///< by experiment, by seed; empty: did not run
  std::vector<ExpectationResult> expectations;
  bool interrupted = false;
};

struct RunOptions {
  int jobs = 1;
  std::function<void(std::size_t done, std::size_t total)> progress;  ///< from one thread at a time
};

/// base::Error when an expectation names a figure that its run does not have.
StudyResult run_study(const Study& study, const RunOptions& options, const std::atomic<bool>& stop);

/// Calls work(0 … count - 1), each once, on `jobs` threads; an exception of one is thrown here
/// after all have ended.
void run_parallel(std::size_t count, int jobs, const std::function<void(std::size_t)>& work);

/// Loss at the end, infinite when it diverged.
double final_loss(const Run& run);
/// Seconds of the clock at a point of the curve, 0 where they are unknown.
double seconds_at(const Clock& clock, const Run& run, const CurvePoint& point);

}  // namespace paceline::sim::convergence
