// SPDX-License-Identifier: Apache-2.0
#include "sim/program_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/message.hpp"
#include "sim/program_text.hpp"

namespace paceline::sim {
namespace {

constexpr std::string_view kForms = "cells look like 2F0, 2I0, 2W0, 2B0 or (0F7;7B3)OVERLAP_F_B";

/// A cell without blanks and quotes around it.
struct Cell {
  std::string_view text;
  ProgramPlaces::Place place;
};

/// What PyTorch's letters stand for, before it is known what B means.
enum class Kind : std::uint8_t { Forward, Input, Weight, Backward, Both };
struct Entry {
  Kind kind;
  bool fused;
  int stage, microbatch;
  ProgramPlaces::Place place;
};
using Row = std::vector<Entry>;

std::vector<Cell> split(std::string_view line, int number) {
  std::vector<Cell> cells;
  for (std::size_t at = 0; at <= line.size();) {
    std::size_t begin = at, end = std::min(line.find(',', at), line.size());
    at = end + 1;
    while (begin < end && is_blank(line[begin])) ++begin;
    while (end > begin && is_blank(line[end - 1])) --end;
    if (end - begin >= 2 && line[begin] == '"' && line[end - 1] == '"') ++begin, --end;
    cells.push_back(
        {line.substr(begin, end - begin), {number, static_cast<std::int32_t>(begin + 1)}});
  }
  return cells;
}

/// Reads cells and remembers what all of them say together.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(file) {}

  [[noreturn]] void fail(ProgramPlaces::Place at, const std::string& problem,
                         const std::string& hint) const {
    throw base::Error(file_ + ":" + std::to_string(at.line) + ":" + std::to_string(at.column),
                      problem, hint);
  }

  void read(const Cell& cell, Row& row) {
    if (cell.text.empty()) return;
    if (cell.text.front() == '(') return read_fused(cell, row);
    read_one(cell.text, cell.place, row);
  }

  int passed_over() const { return passed_over_; }

 private:
  static std::string_view letters(std::string_view text, std::size_t& at) {
    const std::size_t first = at;
    while (at < text.size() && ((text[at] >= 'A' && text[at] <= 'Z') || text[at] == '_')) ++at;
    return text.substr(first, at - first);
  }

  int number(std::string_view text, std::size_t& at, ProgramPlaces::Place place, int high) const {
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    int value = 0;
    const auto [end, code] = std::from_chars(text.data() + first, text.data() + at, value);
    if (first == at) fail(place, base::quote(text) + " is no action", std::string(kForms));
    if (code != std::errc() || value > high)
      fail(place, "the number in " + base::quote(text) + " is out of range",
           "at most " + std::to_string(high));
    return value;
  }

  void read_one(std::string_view text, ProgramPlaces::Place place, Row& row) {
    constexpr int kMaxStage = std::numeric_limits<std::int16_t>::max() - 1;
    constexpr int kMaxMicrobatch = std::numeric_limits<std::int32_t>::max() - 1;
    constexpr std::array<std::pair<std::string_view, Kind>, 5> kKinds{{{"F", Kind::Forward},
                                                                       {"I", Kind::Input},
                                                                       {"W", Kind::Weight},
                                                                       {"B", Kind::Backward},
                                                                       {"BW", Kind::Both}}};
    constexpr std::array<std::string_view, 7> kElsewhere{
        "SEND_F", "RECV_F", "SEND_B", "RECV_B", "UNSHARD", "RESHARD", "REDUCE_GRAD"};
    std::size_t at = 0;
    const int stage = number(text, at, place, kMaxStage);
    const std::string_view name = letters(text, at);
    if (std::find(kElsewhere.begin(), kElsewhere.end(), name) != kElsewhere.end()) {
      if (at < text.size()) number(text, at, place, kMaxMicrobatch);
      if (at < text.size()) fail(place, base::quote(text) + " is no action", std::string(kForms));
      ++passed_over_;
      return;
    }
    const auto* kind = std::find_if(kKinds.begin(), kKinds.end(),
                                    [&](const auto& entry) { return entry.first == name; });
    if (kind == kKinds.end()) {
      fail(place, "unknown action " + base::quote(text), std::string(kForms));
    }
    const int microbatch = number(text, at, place, kMaxMicrobatch);
    if (at != text.size()) fail(place, base::quote(text) + " is no action", std::string(kForms));
    row.push_back({kind->second, false, stage, microbatch, place});
  }

  void read_fused(const Cell& cell, Row& row) {
    const std::size_t close = cell.text.find(')');
    if (close == std::string_view::npos || cell.text.substr(close + 1) != "OVERLAP_F_B") {
      fail(cell.place, base::quote(cell.text) + " is no action", std::string(kForms));
    }
    const std::size_t first = row.size();
    std::size_t at = 1;
    while (at <= close) {
      const std::size_t end = std::min(cell.text.find(';', at), close);
      read_one(cell.text.substr(at, end - at),
               {cell.place.line, cell.place.column + static_cast<std::int32_t>(at)}, row);
      at = end + 1;
    }
    if (row.size() - first < 2)
      fail(cell.place, base::quote(cell.text) + " fuses fewer than two actions",
           std::string(kForms));
    for (std::size_t i = first; i + 1 < row.size(); ++i) row[i].fused = true;
  }

  const std::string& file_;
  int passed_over_ = 0;
};

bool is_header(const std::vector<Cell>& cells) {
  const auto first =
      std::find_if(cells.begin(), cells.end(), [](const Cell& cell) { return !cell.text.empty(); });
  if (first == cells.end() || first->text.front() == '(') return false;
  return std::all_of(first->text.begin(), first->text.end(), is_digit) ||
         !is_digit(first->text.front());
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

/// Columns before the ranks (0 or 1) of "step,rank 0,rank 1", "rank0,rank1", "0,1".
std::size_t read_header(const Reader& reader, const std::vector<Cell>& cells) {
  const std::string first = lower_case(cells.front().text);
  const std::size_t skipped = first == "step" || first == "time" || first.empty() ? 1 : 0;
  for (std::size_t i = skipped; i < cells.size(); ++i) {
    std::string name = lower_case(cells[i].text);
    if (name.starts_with("rank")) name.erase(0, 4);
    if (name.starts_with(" ") || name.starts_with("_")) name.erase(0, 1);
    const std::string expected = std::to_string(i - skipped);
    if (name == expected) continue;
    reader.fail(cells[i].place, "unexpected column " + base::quote(cells[i].text),
                "a header names the ranks in turn: here 'rank " + expected +
                    "'; without a header every row is a rank");
  }
  return skipped;
}

std::vector<Row> read_rows(std::string_view text, Reader& reader) {
  std::vector<Row> ranks;
  bool by_column = false, first = true;
  std::size_t skipped = 0;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<Cell> cells = split(text.substr(0, end), ++number);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool empty = cells.size() == 1 && cells.front().text.empty();
    if (empty || cells.front().text.starts_with('#')) continue;
    if (first && is_header(cells)) {
      by_column = true;
      skipped = read_header(reader, cells);
      ranks.resize(cells.size() - skipped);
    } else if (!by_column) {
      ranks.emplace_back();
      for (const Cell& cell : cells) reader.read(cell, ranks.back());
    } else {
      if (cells.size() > ranks.size() + skipped)
        reader.fail(cells.back().place, "the row is longer than the header",
                    "there are " + std::to_string(ranks.size()) + " ranks");
      for (std::size_t i = skipped; i < cells.size(); ++i)
        reader.read(cells[i], ranks[i - skipped]);
    }
    first = false;
  }
  return ranks;
}

/// The stages and microbatches of one kind, to look them up.
using Cells = std::vector<std::pair<int, int>>;
Cells cells_of(const std::vector<Row>& rows, Kind kind) {
  Cells cells;
  for (const Row& row : rows) {
    for (const Entry& entry : row) {
      if (entry.kind == kind) cells.emplace_back(entry.stage, entry.microbatch);
    }
  }
  std::sort(cells.begin(), cells.end());
  return cells;
}

/// Decides what every B is.
void settle_backwards(std::vector<Row>& rows) {
  const Cells input = cells_of(rows, Kind::Input), weight = cells_of(rows, Kind::Weight);
  const auto has = [](const Cells& cells, const Entry& entry) {
    return std::binary_search(cells.begin(), cells.end(), std::pair(entry.stage, entry.microbatch));
  };
  for (Row& row : rows) {
    for (Entry& entry : row) {
      if (entry.kind != Kind::Backward) continue;
      entry.kind = has(weight, entry) && !has(input, entry) ? Kind::Input : Kind::Both;
    }
  }
}

/// F, and of BW, B and W those that stand in the table.
std::array<std::uint8_t, 5> declare_passes(const std::vector<Row>& rows, Program& program) {
  std::array<bool, 5> used{};
  for (const Row& row : rows) {
    for (const Entry& entry : row) used[static_cast<std::size_t>(entry.kind)] = true;
  }
  const auto is_used = [&](Kind kind) { return used[static_cast<std::size_t>(kind)]; };
  std::array<std::uint8_t, 5> ids{};
  const auto declare = [&](Kind kind, Pass pass) {
    ids[static_cast<std::size_t>(kind)] = static_cast<std::uint8_t>(program.passes.size());
    program.passes.push_back(std::move(pass));
  };
  declare(Kind::Forward, {"F", Direction::Down, {}, {}});
  const bool split = is_used(Kind::Input) || is_used(Kind::Weight);
  if (is_used(Kind::Both)) declare(Kind::Both, {"BW", Direction::Up, {0}, {0}});
  if (split) {
    declare(Kind::Input, {"B", Direction::Up, {0}, {}});
    const std::uint8_t input = ids[static_cast<std::size_t>(Kind::Input)];
    declare(Kind::Weight, {"W", Direction::None, {input}, {0}});
  }
  return ids;
}

}  // namespace

ProgramFile parse_action_table(std::string_view text, const std::string& file) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte-order mark
  Reader reader(file);
  std::vector<Row> rows = read_rows(text, reader);
  settle_backwards(rows);
  ProgramFile result;
  result.passed_over = reader.passed_over();
  result.places.file = file;
  Program& program = result.program;
  const std::array<std::uint8_t, 5> ids = declare_passes(rows, program);
  for (const Row& row : rows) {
    auto& order = program.order.emplace_back();
    auto& places = result.places.order.emplace_back();
    for (const Entry& entry : row) {
      Action action;
      action.pass = ids[static_cast<std::size_t>(entry.kind)];
      action.fused = entry.fused;
      action.stage = static_cast<std::int16_t>(entry.stage);
      action.microbatch = entry.microbatch;
      program.stages = std::max(program.stages, entry.stage + 1);
      program.microbatches = std::max(program.microbatches, entry.microbatch + 1);
      order.push_back(action);
      places.push_back(entry.place);
    }
  }
  if (program.stages == 0)
    throw base::Error(file + ":1:1", "the table has no actions", std::string(kForms));
  return result;
}

ProgramFile parse_program_file(std::string_view text, const std::string& file) {
  if (lower_case(file).ends_with(".csv")) return parse_action_table(text, file);
  ProgramFile result;
  result.program = parse_program(text, file, &result.places);
  return result;
}

}  // namespace paceline::sim
