// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/cost/nccl_log.hpp"

/// Internals of the log reader: what single lines say.
namespace paceline::models::detail {

struct Token {
  std::string_view text;
  int column = 0;  ///< from 1
};

/// Words of a line without the tags that launchers put before it.
std::vector<Token> log_tokens(std::string_view line);

/// Bytes of an element by nccl-tests' type name; 0: no type.
int log_type_bytes(std::string_view type);

/// The columns behind size, count and type, from the header line.
struct LogLayout {
  bool redop = false, root = false;
  bool counts_wrong = true;  ///< "#wrong"; releases before 2.11 print the largest "error"
  int groups = 0;            ///< of time, algbw, busbw and #wrong; 0: no header yet
};

/// Whether the line is the header of a table; fills the layout.
bool read_header(const std::vector<Token>& tokens, LogLayout& layout);

/// A row and what it tells about the operation.
struct LogRow {
  NcclLogRow row;
  double per_count = 1;  ///< size over count elements: the ranks for gathers and scatters
  double algbw = 0, busbw = 0;
  bool reduces = false, rooted = false;
  bool cut = false;  ///< ends before its out-of-place columns do
};

/// Whether the line looks like a row of a table.
bool is_row(const std::vector<Token>& tokens);
/// `where` is "file:line"; throws base::Error.
LogRow read_row(const std::vector<Token>& tokens, const LogLayout& layout,
                const std::string& where);

/// What the lines around the table state.
struct LogFacts {
  std::optional<CollectiveOp> op;
  std::string program;  ///< "all_reduce_perf"
  std::set<int> ranks;  ///< of the device list
  std::set<std::string> hosts;
  int stated_ranks = 0, stated_nodes = 0;
  std::string nccl, device;
};

/// The operation a name holds ("x/all_reduce_perf_mpi -b 8" or "all_reduce-8gpu.txt"); nothing when
/// none. With `program` only names that end in "_perf" count.
std::optional<CollectiveOp> named_operation(std::string_view text, bool program);

/// Takes over what a line outside the table states. Throws base::Error for an operation that is no
/// collective here (gather, scatter, hypercube).
void read_fact(std::string_view line, const std::vector<Token>& tokens, const std::string& where,
               LogFacts& facts);

}  // namespace paceline::models::detail
