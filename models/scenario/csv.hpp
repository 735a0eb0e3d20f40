// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

/// Comma-separated tables as RFC 4180 writes them: quoted cells ("" inside is one quote, line
/// breaks allowed), LF or CRLF, a leading byte-order mark, lines that begin with '#' and empty
/// lines skipped.
namespace paceline::models {

struct Cell {
  std::string text;  ///< without quotes; unquoted cells without blanks around them
  int line = 0;      ///< from 1
  int column = 0;    ///< from 1, in bytes
};

struct Table {
  std::string file;                     ///< as shown in messages
  std::vector<Cell> header;             ///< unique, non-empty names
  std::vector<std::vector<Cell>> rows;  ///< every row as wide as the header

  /// Index of a column, or -1.
  int find(std::string_view name) const;
  /// "file:line:column" of a cell.
  std::string where(const Cell& cell) const;
};

/// base::Error with file:line:column for an open quote, text after a closing quote, a row of
/// another width than the header, a repeated or empty column name, a control character, or no
/// header at all.
Table parse_csv(std::string_view text, std::string file);

}  // namespace paceline::models
