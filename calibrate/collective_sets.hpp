// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "models/cost/collective_table.hpp"

/// Collective times against public benchmark logs (scenarios/published/nccl/sets.yaml).
namespace paceline::calibrate {

/// One measured size and what the models say to it.
struct CollectiveRow {
  base::Bytes size;
  int ranks = 2;
  base::Seconds measured;
  base::Seconds white_box;
  base::Seconds predicted;  ///< with the measured table of the link where there is one
  /// From the log's own other sizes; the end points and warm-up spikes have none.
  std::optional<base::Seconds> left_out;
  /// From the nearest other log of the same node (another collective or number of ranks).
  std::optional<base::Seconds> carried;
};

enum class CollectiveModel { WhiteBox, Table, LeftOut, Carried };

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

/// A: one NVLink node, InfiniBand, RoCE, EFA with RDMA. B: slow or unusual fabrics, within a
/// factor. C: TCPX, sockets, copies through the host: the white box makes no claim.
enum class CollectiveClass { A, B, C };

/// Bounds of the white box hold up to here.
inline constexpr int kBoundedRanks = 256;

using CollectiveErrors = std::array<CollectiveError, kCollectiveBands>;

struct CollectiveSetResult {
  std::string name;
  std::string source;
  std::string node;  ///< sets of the same node stand in for each other; empty: on its own
  CollectiveClass trust = CollectiveClass::A;
  bool held_out = false;   ///< no constant of the white box was fitted on it
  bool tabulated = false;  ///< a measured table speaks for this link, operation and number of ranks
  bool table_itself = false;        ///< ... and this very log is that table
  int spikes = 0;                   ///< rows no neighbour can predict, see left_out
  std::vector<CollectiveRow> rows;  ///< by ranks and size
};

/// The prediction of one model, nothing where it has none.
std::optional<base::Seconds> collective_prediction(const CollectiveRow& row, CollectiveModel model);

/// Error of the rows that the model has a prediction for.
CollectiveError collective_error(const std::vector<CollectiveRow>& rows, CollectiveModel model);
/// The same by band.
CollectiveErrors collective_errors(const std::vector<CollectiveRow>& rows, CollectiveModel model);

/// Rows a model has a prediction for, by band, of every set that counts for its bound: class A up
/// to kBoundedRanks for the white box, all sets for the others.
std::vector<CollectiveRow> bounded_rows(const std::vector<CollectiveSetResult>& results,
                                        CollectiveModel model, std::size_t band);
bool counts_for_bound(const CollectiveSetResult& result, const CollectiveRow& row,
                      CollectiveModel model);

/// Evaluates every set of the file; the logs are the CSV files NAME.csv beside it. Throws
/// base::Error for a file that is missing or wrong.
std::vector<CollectiveSetResult> validate_collectives(const std::string& sets_file);

/// One bound: a model in one band. Bounds are part of the model's description (README of the sets),
/// not fitted to what comes out.
struct CollectiveBound {
  CollectiveModel model = CollectiveModel::WhiteBox;
  std::size_t band = 0;
  double median = 0;
  double p90 = 0;  ///< 0: none
  CollectiveError error;
  bool met() const { return error.median <= median && (p90 <= 0 || error.p90 <= p90); }
};
std::vector<CollectiveBound> collective_bounds(const std::vector<CollectiveSetResult>& results);

/// Whether every bound is met.
bool collectives_within_bounds(const std::vector<CollectiveSetResult>& results);

/// Printable tables: one line per set and model, the pooled lines, the bounds.
std::string collective_report(const std::vector<CollectiveSetResult>& results);

/// The document of `validate nccl --json`, of the same schema as for the other sets: a suite per
/// model and band. `command` is the normalised command line.
std::string collective_json(const std::vector<CollectiveSetResult>& results,
                            const std::string& command);

/// "white box", "with tables", "one size left out", "from another log of the node".
std::string_view to_text(CollectiveModel model);

}  // namespace paceline::calibrate
