// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "models/jobs/jobs_file.hpp"
#include "models/scenario/csv.hpp"
#include "models/scenario/set_expression.hpp"

/// Published systems: an index with one entry each, and a folder for every one that scenarios can
/// express.
///
/// ```yaml
/// # scenarios/systems/index.yaml
/// systems:
///   - id: breadth-first
///     title: "breadth-first pipeline over looping stages"
///     headline: "+43 % over Megatron-LM"       # short, for tables
///     claim: "what its authors say, one sentence"
///     source: "who, where"
///   - id: amdp
///     ...
///     missing: [asynchronous pipeline schedules]   # no folder then
///
/// # scenarios/systems/breadth-first/system.yaml
/// system: breadth-first                        # the folder's name
/// predict:                                     # name: a scenario file beside this one
///   baseline: megatron.yaml
///   variant: {scenario: megatron.yaml, with: {schedule: breadth-first}}
///   crowded: {scenario: megatron.yaml, engine: simgrid}    # links shared
///   queue: {jobs: jobs.yaml}                             # a jobs file beside this one
///   sparse: {scenario: megatron.yaml, sparse: {size: 1 GiB, sparsity: 0.99, value_bytes: 4}}
/// checks:
///   - quantity: "throughput over Megatron-LM"
///     expression: baseline.step_time_s / variant.step_time_s
///     gain: 0.43                 # or value, saving, at_least, at_most; or show: true
/// why: "one sentence: what the figures say, and why they differ"
/// ```
namespace paceline::models {

/// How a check compares its expression x with the published figure c: x = c, x - 1 = c, 1 - x = c,
/// x >= c, x <= c; or no figure is published and x is only shown.
enum class Relation { Value, Gain, Saving, AtLeast, AtMost, Shown };
std::string_view to_text(Relation relation);  ///< the key: "at_least"

struct SystemCheck {
  std::string quantity;  ///< what is compared, in words
  std::string text;      ///< the expression as written
  Expression expression;
  Cell place;  ///< where it stands, for messages
  Relation relation = Relation::Value;
  double claimed = 0;
  double tolerance = 0.05;  ///< relative error up to which a figure counts as reproduced
  double band = 0.20;       ///< and up to which it lies within
};

/// An array that goes through a run's data-parallel group as a sparse collective: the run then also
/// offers sparse_all_gather, sparse_reduce_scatter and sparse_all_reduce, speed-ups over the dense.
struct SparseArray {
  base::Bytes size;  ///< dense
  double sparsity = 0;
  int value_bytes = 4;
};

struct SystemRun {
  std::string name;     ///< in expressions
  std::string file;     ///< of the scenario, beside system.yaml
  std::string changes;  ///< to it, as one line of YAML; empty: none
  base::Document scenario;
  bool shared_links = false;  ///< run by the engine that shares links
  std::optional<SparseArray> sparse;
  /// A jobs file in place of a scenario, without its variants: expressions are evaluated in each of
  /// its instances ("queue.bace-pipe.jct"), and the median counts.
  std::shared_ptr<const JobsStudy> jobs;
};

struct System {
  std::string id, title, headline, claim, source;
  std::vector<std::string> missing;  ///< capabilities Paceline lacks; empty: expressed
  std::string file;                  ///< its system.yaml; empty when not expressed
  std::vector<SystemRun> runs;
  Table columns;  ///< header only: every quantity of every run, "baseline.step_time_s"
  std::vector<SystemCheck> checks;
  std::string why;
};

/// What a run offers to expressions. Times in seconds, sizes of the fullest rank in bytes, traffic
/// sent by all ranks in one step.
std::span<const std::string_view> system_quantities();
/// And one with a sparse array besides.
std::span<const std::string_view> sparse_quantities();
/// The words `missing` may use.
std::span<const std::string_view> missing_capabilities();

/// Reads the index and every system beside it. base::Error with file:line:column for an unknown
/// key, a repeated id, an unknown capability, an expression that names no quantity, a check without
/// exactly one figure, a system that has neither a folder nor `missing` or both, or a folder the
/// index does not know. Scenarios are parsed, not yet checked.
std::vector<System> read_systems(const std::string& index);
/// The index that comes with Paceline; base::Error when there is none.
std::string systems_file();

}  // namespace paceline::models
