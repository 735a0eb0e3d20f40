// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "models/cost/collective_table.hpp"

/// Collective times against public benchmark logs (scenarios/published/nccl/sets.yaml).
namespace paceline::calibrate {

/// One measured size and what the model says to it.
struct CollectiveRow {
  base::Bytes size;
  base::Seconds measured;
  base::Seconds white_box;
  base::Seconds predicted;  ///< with the measured table of the link where there is one
};

/// Errors are symmetric, exp(|ln(predicted / measured)|) - 1: half and double are both 100 %.
struct CollectiveError {
  int points = 0;
  double median = 0;
  double p90 = 0;
  double bias = 0;  ///< median of predicted / measured - 1
};

/// Size bands of the published bounds: up to 64 KiB, below 1 MiB, below 64 MiB, from 64 MiB on.
inline constexpr std::size_t kCollectiveBands = 4;
std::size_t collective_band(base::Bytes size);
std::string_view collective_band_name(std::size_t band);

enum class CollectiveClass { A, B, C };

struct CollectiveSetResult {
  std::string name;
  std::string source;
  CollectiveClass trust = CollectiveClass::A;
  bool held_out = false;   ///< no constant of the white box was fitted on it
  bool tabulated = false;  ///< a measured table speaks for this link, operation and number of ranks
  bool table_itself = false;        ///< ... and this very log is that table
  std::vector<CollectiveRow> rows;  ///< by size
  std::array<CollectiveError, kCollectiveBands> white_box;
  std::array<CollectiveError, kCollectiveBands> predicted;
};

/// Error of the rows of some band; `table` selects predicted over white_box.
CollectiveError collective_error(const std::vector<CollectiveRow>& rows, bool table);

/// Evaluates every set of the file; the logs are the CSV files NAME.csv beside it. Throws
/// base::Error for a file that is missing or wrong.
std::vector<CollectiveSetResult> validate_collectives(const std::string& sets_file);

/// Whether the white box keeps its published bounds (median / p90 by band) over all class A logs:
/// 15 / 35, 15 / 35, 15 / 50 and 5 / 15 %.
bool collectives_within_bounds(const std::vector<CollectiveSetResult>& results);

/// A printable table: one line per set, then the pooled lines.
std::string collective_report(const std::vector<CollectiveSetResult>& results);

}  // namespace paceline::calibrate
