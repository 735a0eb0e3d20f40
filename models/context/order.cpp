// SPDX-License-Identifier: Apache-2.0
#include "models/context/order.hpp"

#include <algorithm>

namespace paceline::models {

#define PACELINE_ORDER(function, name, pieces, summary) \
  std::vector<Holding> deal_##function(std::span<const Run> runs, int ranks, const Mask& mask);
#include "models/context/orders.def"
#undef PACELINE_ORDER

namespace {
constexpr ContextOrder kOrders[] = {
#define PACELINE_ORDER(function, name, pieces, summary) {name, deal_##function, pieces, summary},
#include "models/context/orders.def"
#undef PACELINE_ORDER
};
}  // namespace

std::span<const ContextOrder> context_orders() { return kOrders; }

const ContextOrder* context_order(std::string_view name) {
  const auto* found = std::find_if(std::begin(kOrders), std::end(kOrders),
                                   [&](const ContextOrder& o) { return o.name == name; });
  return found == std::end(kOrders) ? nullptr : found;
}

std::int64_t held_tokens(const Holding& holding) {
  std::int64_t sum = 0;
  for (const Piece& piece : holding) sum += piece.count;
  return sum;
}

void append_range(Holding& holding, std::span<const Run> runs, std::int64_t from, std::int64_t to) {
  std::int64_t at = 0;
  for (const Run& run : runs) {
    if (at >= to) break;
    const std::int64_t begin = std::max(from - at, std::int64_t{0});
    const std::int64_t end = std::min(to - at, run.tokens());
    if (begin < end) holding.push_back({run.document, run.begin + begin, end - begin, 1});
    at += run.tokens();
  }
}

}  // namespace paceline::models
