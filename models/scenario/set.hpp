// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"

/// A measured set: one published table as a base scenario, a CSV file with one run a row, a mapping
/// from columns to scenario paths and measured quantities, and named exclusions.
///
/// ```yaml
/// set: a100-multi-node                   # the file's name without its extension
/// title: "A100 nodes, 3.6B and 39.1B"    # optional, for tables and plots
/// source: "who published it, where"
/// notes: ["what the source leaves open"] # optional
/// flops_convention: "time = ..."         # optional: formula behind times derived from a
/// throughput table: a100-multi-node.csv             # beside this file id: "{model} tp{tp} pp{pp}"
/// # names a row; repeated ids get " #2"; default "row N" base: {...}                            #
/// a scenario; need not be complete on its own overrides:                             # scenario
/// path: expression over the row's cells
///   parallel.tp: tp                      #   a bare column is copied as text ("[8, 7]" is a list)
///   cluster.nodes: gpus / 8              #   products and quotients of columns and numbers
///   costs.hop: "{hop_us} us"             #   text around a column, for units
/// cases:                                 # column: cell: tree merged into the scenario
///   model: {3.6B: {model: {hidden: 3072}}, 39.1B: {model: {hidden: 8192}}}
/// measured:
///   step_time_s:
///     value: step_ms / 1000              # expression; an empty cell means not measured
///     metric: relative                   # relative | log | absolute | fraction
///     goal: {mean: 0.04}
///     bound: {mean: 0.05, worst: 0.16}   # over the rows that are not excluded
///     bound_all: {mean: 0.10}            # over all rows
///   fits: {value: outcome, metric: fraction, labels: {ok: 1, out_of_memory: 0}}
/// exclude:
///   - rule: "39.1B at TP2"
///     why: "not even monotonic in the microbatch size"
///     where: [{model: 39.1B, tp: 2}]     # any of these; a cell equals a value, is in a list, or
///     count: 8                           #   compares (">= 2"); the number of rows must come out
///     quantity: step_time_s              # optional: only this one
/// group_by: [model, gpus]                # rows of one choice of layout, for the regret
/// ```
/// Overrides are applied first, then cases in file order: a case may refine an override. An empty
/// cell changes nothing.
namespace paceline::models {

/// How far a prediction is off: predicted/measured - 1; ln(predicted/measured); predicted -
/// measured in the quantity's own unit, divided by `scale` where one is given; or a wrong yes/no
/// label.
enum class ErrorMetric { Relative, Log, Absolute, Fraction };

/// Limits on absolute errors. For fractions `mean` is the share of wrong labels and
/// `false_positives` the share of all rows predicted 1 but measured 0.
struct ErrorLimit {
  std::optional<double> mean, worst, false_positives;
};

struct SetQuantity {
  std::string name;  ///< step_time_s, memory_GB, fits: ends in its unit where it has one
  ErrorMetric metric = ErrorMetric::Relative;
  ErrorLimit goal, bound, bound_all;
};

struct Measured {
  double value = 0;
  double scale = 1;              ///< Absolute: the unit errors are counted in
  std::vector<int> excluded_by;  ///< indices into MeasuredSet::exclusions
};

struct Exclusion {
  std::string rule, why;
  std::string quantity;  ///< empty: all
  int rows = 0;          ///< how many it takes out
};

struct SetRow {
  std::string id;
  std::string group;  ///< equal for rows that are alternatives of each other; empty: none
  /// The base with this row's overrides and cases. Its file is the table and every value stands at
  /// its cell, values of the base at the row's first cell: messages lead to the row.
  base::Document scenario;
  std::map<std::string, Measured> measured;  ///< by quantity; absent: not measured in this row
};

struct MeasuredSet {
  std::string name, title, source, file;
  std::string
      flops_convention;  ///< how times follow from a published throughput; empty: as printed
  std::vector<std::string> notes;
  std::vector<SetQuantity> quantities;  ///< in file order
  std::vector<Exclusion> exclusions;
  std::vector<SetRow> rows;  ///< in table order
};

/// Reads a set file and its table. base::Error with file:line:column for an unknown key, a missing
/// column, a ragged row, a cell that is no number where one is needed, a cell without a case, or an
/// exclusion whose count does not come out. Columns nobody uses are allowed: a table keeps the
/// figures the source prints beside the ones that are compared.
MeasuredSet read_set(const std::string& path);

/// Names of the sets that come with Paceline, sorted.
std::vector<std::string> set_names();
/// A set by name or by path (anything with a '/' or ending in .yaml); Error with the nearest names.
std::string set_file(const std::string& name);

}  // namespace paceline::models
