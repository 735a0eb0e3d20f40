// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/child_pool.hpp"
#include "models/scenario/sweep.hpp"
#include "reports/text_block.hpp"
#include "sim/predict.hpp"

/// What a sweep says: one row a point, as a table, CSV, JSON and JSON lines.
namespace paceline::reports {

inline constexpr std::string_view kSweepSchema = "paceline-sweep-2";

/// Fits and DoesNotFit have numbers, the others a reason.
enum class PointStatus { Fits, DoesNotFit, BadInput, NoProgress, Crashed };
inline constexpr std::size_t kPointStatuses = 5;
/// "fits", "does not fit", "bad input", "no progress", "crashed".
std::string_view to_text(PointStatus status);

struct SweepRow {
  std::size_t point = 0;
  std::vector<std::string> values;  ///< by path of the header
  PointStatus status = PointStatus::Crashed;
  std::string reason;  ///< "" when it fits
  std::string hash;    ///< of the scenario of the point
  std::string stack;   ///< its name
  std::vector<std::string> profiles, warnings;
  int devices = 0;
  double step_time = 0;  ///< seconds
  double tokens_per_s = 0, mfu = 0, hfu = 0;
  double reserved_bytes = 0, capacity_bytes = 0;  ///< of the fullest rank class
  double traffic_bytes = 0;                       ///< sent by all ranks in a step
  std::optional<double> step_j;                   ///< devices and hosts; where power is known
  std::optional<double> billion_tokens_usd;       ///< where there are prices
  /// Of the whole run, with failures where the scenario has them; where run.tokens is given.
  std::optional<double> run_s, run_usd;
  std::optional<double> goodput;  ///< where the scenario has failures
  bool computed() const { return status <= PointStatus::DoesNotFit; }
};

/// What is the same for all rows.
struct SweepHeader {
  std::string version;                ///< of Paceline
  std::string command;                ///< reproduces the sweep; no output paths, no number of jobs
  std::string scenario, file, hash;   ///< name, path as given, hash without the varied values
  std::string stack;                  ///< as above, "" where a point has to complete the scenario
  std::vector<std::string> profiles;  ///< likewise
  std::string engine, fidelity;       ///< as in sim::Result
  std::vector<std::string> paths;
  std::size_t points = 0;
  std::vector<std::string> pareto_of{"time", "memory"};  ///< names of kObjectives
};

/// What a front can be of; less is better in each.
struct Objective {
  std::string_view name;
  std::string_view key;  ///< of a row in files
  std::optional<double> (*of)(const SweepRow&);
};
std::span<const Objective> objectives();
/// "time,cost": two or three different names; base::Error with the valid ones otherwise.
std::vector<std::string> parse_objectives(const std::string& text);

struct SweepReport {
  SweepHeader header;
  std::vector<SweepRow> rows;       ///< by point
  std::vector<std::size_t> pareto;  ///< points, ascending
};

SweepHeader make_sweep_header(const models::Sweep& sweep, const sim::PredictOptions& options,
                              std::string command);

/// Predicts one point. Whatever is wrong with it is its status and reason.
SweepRow predict_point(const models::Sweep& sweep, std::size_t point,
                       const sim::PredictOptions& options);
/// Shares pieces of a sweep among processes that were started together: gets how many there are and
/// gives where to take them from.
using ShareOut = std::function<base::PieceSource(std::size_t pieces)>;

/// `predict` for each of the points, in at most `jobs` (>= 1) processes at a time, a few points in
/// each; `take` here for every row, in the order in which they come. Points of a process that
/// crashes are tried again alone: one that crashes then is a row that says so. With `share`, those
/// pieces that fall to this process; `processes`: of all that share. False, errors and signals as
/// in base::run_in_children.
bool run_points(const models::Sweep& sweep, const SweepHeader& header,
                const std::vector<std::size_t>& points, int jobs,
                const std::function<SweepRow(std::size_t)>& predict,
                const std::function<void(SweepRow)>& take, const ShareOut& share = nullptr,
                int processes = 1);

/// Points that fit and that no other one beats in the objectives named; ascending. Points that lack
/// one of them are not on it.
std::vector<std::size_t> pareto_front(const std::vector<SweepRow>& rows,
                                      const std::vector<std::string>& names = {"time", "memory"});
SweepReport make_sweep_report(SweepHeader header, std::vector<SweepRow> rows);

// JSON lines: a header, rows, and one that says that all are there.
std::string sweep_header_line(const SweepHeader& header);
std::string sweep_row_line(const SweepHeader& header, const SweepRow& row);
SweepRow read_sweep_row(std::string_view line, const std::string& where, const SweepHeader& header);
/// Several lines of rows.
std::vector<SweepRow> read_sweep_lines(std::string_view lines, const SweepHeader& header);
std::string sweep_jsonl(const SweepReport& report);
/// Rows of an earlier, perhaps unfinished file, by their values in the order of header.paths. Rows
/// of other paths and crashed ones are left out, as is a last line that was cut short. base::Error
/// when the file is no such file, or of another scenario, engine or version.
std::map<std::vector<std::string>, SweepRow> read_sweep_rows(const std::string& file,
                                                             const SweepHeader& header);

std::string sweep_json(const SweepReport& report);
/// '#' lines with the header, then a table.
std::string sweep_csv(const SweepReport& report);
/// A table for 80 columns; of many points the front and the fastest.
std::string sweep_text(const SweepReport& report, const TextStyle& style);

}  // namespace paceline::reports
