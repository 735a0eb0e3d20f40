// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/cost/collective.hpp"

/// Standard output of nccl-tests as people keep it: tagged by mpirun or srun, mixed with NCCL's own
/// debug lines, warnings and shell traces. Columns as in NVIDIA/nccl-tests, src/common.cu.
namespace paceline::models {

/// One row of the table. Times come from the time column, never from a rounded bandwidth.
struct NcclLogRow {
  base::Bytes size;            ///< the `size` column: the full array, as everywhere here
  base::Seconds out_of_place;  ///< above 0
  base::Seconds in_place;      ///< 0: not there
  std::int64_t wrong = -1;     ///< 0, or -1 when the log did not check; wrong results do not load
  int line = 0;
};

/// One operation on one group, with all the rows of the log (repeated sizes included).
struct NcclLog {
  std::string file;
  CollectiveOp op = CollectiveOp::AllReduce;
  int ranks = 0;                   ///< 2 or more
  int nodes = 0;                   ///< 0: the log does not say
  std::string nccl;                ///< "2.21.5"; empty: the log does not say
  std::string device;              ///< name of the first device; empty: the log does not say
  std::vector<NcclLogRow> rows;    ///< in file order, at least one
  std::vector<std::string> notes;  ///< what was inferred or skipped, one line each
};

/// What the user knows and the log may leave out. A log that states otherwise is an Error.
struct NcclLogHints {
  std::optional<CollectiveOp> op;
  int ranks = 0;  ///< 0: not stated
  int nodes = 0;
};

inline constexpr int kMaxLogRanks = 1 << 20;

/// Throws base::Error (file:line:column) when there is no table, a number is negative, absurd or
/// contradicts its neighbours, results are wrong (#wrong above 0), one rank talks to itself, the
/// log holds several operations or rank counts, or neither log nor hints tell the operation, ranks.
/// Rows of size 0 and rows that are cut off are left out with a note.
NcclLog parse_nccl_log(std::string_view text, const std::string& file,
                       const NcclLogHints& hints = {});
/// The same for a file.
NcclLog read_nccl_log(const std::string& path, const NcclLogHints& hints = {});

}  // namespace paceline::models
