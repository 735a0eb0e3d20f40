// SPDX-License-Identifier: Apache-2.0
#include "models/cost/nccl_log.hpp"

#include <algorithm>
#include <cmath>

#include "base/message.hpp"
#include "base/text.hpp"
#include "models/cost/nccl_log_lines.hpp"

namespace paceline::models {
namespace {

using detail::LogFacts;
using detail::LogLayout;
using detail::LogRow;

constexpr std::size_t kMaxRows = 100'000;
constexpr std::size_t kMaxNotes = 20;

void add_note(NcclLog& log, std::string text) {
  if (log.notes.size() < kMaxNotes) log.notes.push_back(std::move(text));
}

std::string line_place(const NcclLog& log, const LogRow& row) {
  return log.file + ":" + std::to_string(row.row.line) + ":1";
}

/// busbw over algbw: the share of the array every link carries (nccl-tests, doc/PERFORMANCE.md).
double bus_factor(CollectiveOp op, double n) {
  switch (op) {
    case CollectiveOp::AllReduce:
      return 2 * (n - 1) / n;
    case CollectiveOp::AllGather:
    case CollectiveOp::ReduceScatter:
    case CollectiveOp::AllToAll:
      return (n - 1) / n;
    case CollectiveOp::Broadcast:
    case CollectiveOp::Reduce:
    case CollectiveOp::SendRecv:
      return 1;
  }
  return 1;
}

/// Least and largest busbw over algbw that rounding to 0.01 GB/s leaves, over all rows.
std::pair<double, double> factor_range(const std::vector<LogRow>& rows) {
  double low = 0, high = 1e9;
  for (const LogRow& r : rows) {
    if (r.algbw < 0.1) continue;
    low = std::max(low, (r.busbw - 0.006) / (r.algbw + 0.006));
    high = std::min(high, (r.busbw + 0.006) / (r.algbw - 0.006));
  }
  return {low, high};
}

/// The only number of ranks the bandwidth columns allow; 0 when they allow several or none.
int ranks_from_factor(CollectiveOp op, const std::vector<LogRow>& rows) {
  const auto [low, high] = factor_range(rows);
  int found = 0;
  for (int n = 2; n <= 4096; ++n) {
    const double f = bus_factor(op, n);
    if (f < low || f > high) continue;
    if (found != 0) return 0;
    found = n;
  }
  return found;
}

CollectiveOp op_from_columns(NcclLog& log, const std::vector<LogRow>& rows) {
  const LogRow& r = rows.front();
  const auto infer = [&](CollectiveOp op) {
    add_note(log, "the operation is not named: " + std::string(to_text(op)) + " by its columns");
    return op;
  };
  const bool split = r.per_count > 1.5;
  if (r.rooted) return infer(r.reduces ? CollectiveOp::Reduce : CollectiveOp::Broadcast);
  if (r.reduces) return infer(split ? CollectiveOp::ReduceScatter : CollectiveOp::AllReduce);
  throw base::Error(line_place(log, r), "the log does not name its operation",
                    "say op: all_gather, all_to_all or broadcast");
}

/// Program named in the log, else the user's word, else the name of the file, else the columns.
CollectiveOp find_op(NcclLog& log, const LogFacts& facts, const std::vector<LogRow>& rows,
                     const NcclLogHints& hints) {
  if (facts.op && hints.op && *facts.op != *hints.op)
    throw base::Error(log.file, "is a log of " + std::string(to_text(*facts.op)) + ", not of " +
                                    std::string(to_text(*hints.op)));
  if (facts.op) return *facts.op;
  if (hints.op) return *hints.op;
  const std::string name = log.file.substr(log.file.find_last_of('/') + 1);
  if (const auto op = detail::named_operation(name, false)) {
    add_note(log, "the operation is not named: " + std::string(to_text(*op)) +
                      " by the name of the file");
    return *op;
  }
  return op_from_columns(log, rows);
}

int find_ranks(NcclLog& log, const LogFacts& facts, const std::vector<LogRow>& rows,
               const NcclLogHints& hints) {
  int ranks = facts.ranks.empty() ? facts.stated_ranks : static_cast<int>(facts.ranks.size());
  const double share = rows.front().per_count;
  const bool gathers = log.op == CollectiveOp::AllGather || log.op == CollectiveOp::ReduceScatter ||
                       log.op == CollectiveOp::AllToAll;
  if (ranks == 0 && gathers && share > 1.5 && share < kMaxLogRanks)
    ranks = static_cast<int>(std::lround(share));
  if (ranks == 0 && hints.ranks == 0) {
    ranks = ranks_from_factor(log.op, rows);
    if (ranks > 0)
      add_note(log, "ranks are not stated: " + std::to_string(ranks) + " by busbw over algbw");
  }
  if (ranks > 0 && hints.ranks > 0 && ranks != hints.ranks)
    throw base::Error(log.file, "is a log of " + std::to_string(ranks) + " ranks, not of " +
                                    std::to_string(hints.ranks));
  if (ranks == 0) ranks = hints.ranks;
  if (ranks == 0)
    throw base::Error(line_place(log, rows.front()), "the log does not state its number of ranks",
                      "say ranks: N");
  if (ranks == 1)
    throw base::Error(line_place(log, rows.front()), "one rank communicates with nobody",
                      "a log of two or more ranks is needed");
  return ranks;
}

int find_nodes(const NcclLog& log, const LogFacts& facts, const NcclLogHints& hints) {
  int nodes = facts.hosts.empty() ? facts.stated_nodes : static_cast<int>(facts.hosts.size());
  if (nodes > 0 && hints.nodes > 0 && nodes != hints.nodes)
    throw base::Error(log.file, "is a log of " + std::to_string(nodes) + " nodes, not of " +
                                    std::to_string(hints.nodes));
  if (nodes == 0) nodes = hints.nodes;
  if (nodes > 0 && log.ranks % nodes != 0)
    throw base::Error(log.file, std::to_string(log.ranks) + " ranks on " + std::to_string(nodes) +
                                    " nodes: not the same number on each");
  return nodes;
}

/// The bandwidth columns must be those of the operation and ranks.
void check_factor(const NcclLog& log, const std::vector<LogRow>& rows) {
  const double factor = bus_factor(log.op, log.ranks);
  for (const LogRow& r : rows) {
    if (r.algbw < 1 || std::fabs(r.busbw / r.algbw - factor) < 0.02 * factor) continue;
    throw base::Error(line_place(log, r),
                      "busbw is " + base::format_fixed(r.busbw / r.algbw, 3) +
                          " of algbw, which is not " + std::string(to_text(log.op)) + " on " +
                          std::to_string(log.ranks) + " ranks (" + base::format_fixed(factor, 3) +
                          ")",
                      "one log holds one operation on one group");
  }
}

/// A log while it is read line by line.
struct Reading {
  NcclLog log;
  LogFacts facts;
  LogLayout layout;
  std::vector<LogRow> rows;
  std::optional<CollectiveOp> table_op;  ///< named above the first table
  std::size_t table_ranks = 0;

  void header(const std::string& where);
  void row(const std::vector<detail::Token>& tokens, int line);
  void line(std::string_view text, int number);
};

/// A further table repeats the first one's operation and group, or the log is refused.
void Reading::header(const std::string& where) {
  if (!rows.empty() && table_op && facts.op != table_op)
    throw base::Error(where,
                      "a table of " + std::string(to_text(*facts.op)) + " after one of " +
                          std::string(to_text(*table_op)),
                      "one log, one operation: split the file");
  if (!rows.empty() && table_ranks > 0 && !facts.ranks.empty() && facts.ranks.size() != table_ranks)
    throw base::Error(where,
                      "a table of " + std::to_string(facts.ranks.size()) + " ranks after one of " +
                          std::to_string(table_ranks),
                      "one log, one group: split the file");
  table_op = facts.op;
  table_ranks = facts.ranks.size();
}

void Reading::row(const std::vector<detail::Token>& tokens, int number) {
  const std::string where = log.file + ":" + std::to_string(number);
  LogRow r = detail::read_row(tokens, layout, where);
  r.row.line = number;
  if (r.cut) {
    add_note(log, "line " + std::to_string(number) + " is cut off: left out");
    return;
  }
  if (r.row.out_of_place.value <= 0) {
    add_note(log, "line " + std::to_string(number) + " is of size 0: left out");
    return;
  }
  if (!rows.empty() && (r.reduces != rows.front().reduces || r.rooted != rows.front().rooted))
    throw base::Error(where + ":" + std::to_string(tokens[2].column),
                      "redop or root say another operation than the first row",
                      "one log, one operation: split the file");
  if (rows.size() == kMaxRows)
    throw base::Error(where, "more than " + std::to_string(kMaxRows) + " rows");
  rows.push_back(r);
}

void Reading::line(std::string_view text, int number) {
  const std::vector<detail::Token> tokens = detail::log_tokens(text);
  if (tokens.empty()) return;
  const std::string where = log.file + ":" + std::to_string(number) + ":1";
  if (detail::read_header(tokens, layout)) return header(where);
  if (detail::is_row(tokens)) {
    if (layout.groups == 0)
      throw base::Error(where, "a row above the line that names the columns",
                        "keep the lines that begin with '#'");
    return row(tokens, number);
  }
  if (tokens.size() > 1 && tokens[0].text == "#" && tokens[1].text == "Using") {
    facts.ranks.clear();
    facts.hosts.clear();
  }
  detail::read_fact(text, tokens, where, facts);
}

}  // namespace

NcclLog parse_nccl_log(std::string_view text, const std::string& file, const NcclLogHints& hints) {
  Reading reading;
  reading.log.file = file;
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    reading.line(text.substr(begin, end - begin), ++number);
    begin = end + 1;
  }
  NcclLog& log = reading.log;
  // A name below the last table is of a run that printed nothing.
  if (reading.table_op) reading.facts.op = reading.table_op;
  if (reading.rows.empty())
    throw base::Error(file + ":" + std::to_string(std::max(number, 1)) + ":1",
                      "no table of nccl-tests found",
                      "rows of size, count, type, …, time, algbw, busbw below their header");
  log.op = find_op(log, reading.facts, reading.rows, hints);
  log.ranks = find_ranks(log, reading.facts, reading.rows, hints);
  log.nodes = find_nodes(log, reading.facts, hints);
  check_factor(log, reading.rows);
  log.nccl = reading.facts.nccl;
  log.device = reading.facts.device;
  for (const LogRow& r : reading.rows) log.rows.push_back(r.row);
  return std::move(reading.log);
}

NcclLog read_nccl_log(const std::string& path, const NcclLogHints& hints) {
  return parse_nccl_log(base::read_file(path), path, hints);
}

}  // namespace paceline::models
