// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/csv.hpp"

#include <cstddef>
#include <utility>

#include "base/error.hpp"
#include "base/message.hpp"

namespace paceline::models {
namespace {

std::string place(const std::string& file, int line, int column) {
  return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

/// Walks the text cell by cell; keeps the place for messages.
struct Reader {
  std::string_view text;
  const std::string& file;
  std::size_t at = 0;
  int line = 1;
  int column = 1;

  bool done() const { return at >= text.size(); }
  char peek() const { return done() ? '\0' : text[at]; }
  bool at_line_end() const { return peek() == '\n' || text.substr(at, 2) == "\r\n"; }
  void advance() {
    if (text[at] == '\n') {
      ++line;
      column = 1;
    } else {
      ++column;
    }
    ++at;
  }
  void end_line() {
    if (peek() == '\r') ++at;
    if (!done()) advance();
  }
  [[noreturn]] void fail(const std::string& problem, const std::string& hint) const {
    throw base::Error(place(file, line, column), problem, hint);
  }
};

void append(Reader& reader, std::string& cell) {
  const auto c = static_cast<unsigned char>(reader.peek());
  if (c < 0x20 && c != '\t' && c != '\n' && c != '\r')
    reader.fail("control character in a table", "write plain text");
  cell += reader.peek();
  reader.advance();
}

std::string quoted_cell(Reader& reader) {
  const Reader start = reader;
  std::string cell;
  reader.advance();
  while (true) {
    if (reader.done()) start.fail("quote is never closed", "end the cell with \"");
    if (reader.peek() != '"') {
      append(reader, cell);
      continue;
    }
    reader.advance();
    if (reader.peek() != '"') break;
    append(reader, cell);
  }
  while (reader.peek() == ' ') reader.advance();
  if (!reader.done() && reader.peek() != ',' && !reader.at_line_end())
    reader.fail("text after a closing quote", "quote the whole cell and double the quotes inside");
  return cell;
}

std::string plain_cell(Reader& reader) {
  std::string cell;
  while (!reader.done() && reader.peek() != ',' && !reader.at_line_end()) append(reader, cell);
  while (!cell.empty() && (cell.back() == ' ' || cell.back() == '\t')) cell.pop_back();
  return cell;
}

std::vector<Cell> read_row(Reader& reader) {
  std::vector<Cell> row;
  while (true) {
    while (reader.peek() == ' ' || reader.peek() == '\t') reader.advance();
    Cell cell{"", reader.line, reader.column};
    cell.text = reader.peek() == '"' ? quoted_cell(reader) : plain_cell(reader);
    row.push_back(std::move(cell));
    if (reader.peek() != ',') break;
    reader.advance();
  }
  reader.end_line();
  return row;
}

void check_header(const Table& table) {
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    const Cell& name = table.header[i];
    if (name.text.empty()) throw base::Error(table.where(name), "a column has no name");
    if (table.find(name.text) != static_cast<int>(i))
      throw base::Error(table.where(name), "column " + base::quote(name.text) + " is there twice");
  }
}

}  // namespace

int Table::find(std::string_view name) const {
  for (std::size_t i = 0; i < header.size(); ++i)
    if (header[i].text == name) return static_cast<int>(i);
  return -1;
}

std::string Table::where(const Cell& cell) const { return place(file, cell.line, cell.column); }

Table parse_csv(std::string_view text, std::string file) {
  Table table;
  table.file = std::move(file);
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  Reader reader{text, table.file};
  while (!reader.done()) {
    if (reader.peek() == '#' || reader.at_line_end()) {
      while (!reader.done() && !reader.at_line_end()) reader.advance();
      reader.end_line();
      continue;
    }
    std::vector<Cell> row = read_row(reader);
    if (table.header.empty()) {
      table.header = std::move(row);
      check_header(table);
      continue;
    }
    if (row.size() != table.header.size())
      throw base::Error(table.where(row.front()),
                        "row of " + std::to_string(row.size()) + " cells below a header of " +
                            std::to_string(table.header.size()),
                        "give every row one cell per column");
    table.rows.push_back(std::move(row));
  }
  if (table.header.empty()) throw base::Error(place(table.file, 1, 1), "table has no header");
  return table;
}

}  // namespace paceline::models
