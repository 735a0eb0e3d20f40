// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/context/mask.hpp"

/// How the tokens of a window are dealt to the ranks of a context group.
namespace paceline::models {

/// Tokens [begin, end) of a document that stand side by side in a window. A whole document begins
/// at 0; one that goes on from an earlier window does not.
struct Run {
  int document = 0;
  std::int64_t begin = 0, end = 0;
  std::int64_t tokens() const { return end - begin; }
};

/// What a rank holds: pieces of documents, in order of documents.
using Holding = std::vector<Piece>;
std::int64_t held_tokens(const Holding& holding);

/// Orders are plain functions: the runs of a window, in their order, over `ranks` ranks. Every
/// token goes to one rank.
using DealFunction = std::vector<Holding> (*)(std::span<const Run> runs, int ranks,
                                              const Mask& mask);

struct ContextOrder {
  std::string_view name;
  DealFunction deal;
  int pieces;  ///< of the window on each rank: ranks * pieces must divide it; 0: any length
  std::string_view summary;
};

/// All orders, in the order of orders.def.
std::span<const ContextOrder> context_orders();
/// Null for a name there is none of.
const ContextOrder* context_order(std::string_view name);

/// For orders: the tokens [from, to) of the window, as pieces appended to `holding`.
void append_range(Holding& holding, std::span<const Run> runs, std::int64_t from, std::int64_t to);
/// Tokens of the window before part k of n nearly equal parts.
constexpr std::int64_t cut(std::int64_t tokens, std::int64_t k, std::int64_t n) {
  return tokens / n * k + tokens % n * k / n;
}

}  // namespace paceline::models
