// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

/// Areas of attention masks, exactly. A score (query i, key j) is a unit square; causal attention
/// keeps the half-plane j < i of the continuous plane, so that a document of n tokens has n^2 / 2:
/// the convention of published FLOP counts. Twice an area is a whole number.
namespace paceline::models {

/// Tokens begin, begin + stride, ..., `count` of them, of one document.
struct Piece {
  int document = 0;
  std::int64_t begin = 0, count = 0, stride = 1;
  bool operator==(const Piece&) const = default;
};

/// What a query may look at in its document.
struct Mask {
  std::int64_t window = 0;  ///< the last so many tokens; 0: all before it
  bool causal = true;       ///< false: all tokens, before and after
  /// Not causal: only every so many tokens, those of its own interleaved subsequence.
  std::int64_t subsequences = 1;
};

/// Twice the area of queries x keys that the mask keeps; 0 for pieces of different documents.
/// Exact for tokens below 2^30. Pieces with a stride must have the same.
std::int64_t twice_area(const Piece& queries, const Piece& keys, const Mask& mask);

/// Twice the area of the queries against all keys of their document up to them, or where it is not
/// causal of a document of so many tokens.
std::int64_t twice_area(const Piece& queries, const Mask& mask, std::int64_t document);
/// Twice the area of a whole document.
std::int64_t twice_area(std::int64_t tokens, const Mask& mask);

}  // namespace paceline::models
