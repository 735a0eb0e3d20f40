// SPDX-License-Identifier: Apache-2.0
#include "sim/minimax_layers.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"

namespace paceline::sim {

std::vector<int> minimax_layers(int layers, int stages, const StageSeconds& seconds) {
  PACELINE_CHECK(stages >= 1 && stages <= layers);
  // longest[k][n]: of the first k stages when they hold n layers; from: where the last of them
  // begins.
  const std::size_t width = static_cast<std::size_t>(layers) + 1;
  std::vector<double> longest(width * static_cast<std::size_t>(stages + 1),
                              std::numeric_limits<double>::infinity());
  std::vector<int> from(longest.size(), 0);
  const auto at = [&](int k, int n) {
    return static_cast<std::size_t>(k) * width + static_cast<std::size_t>(n);
  };
  longest[at(0, 0)] = 0;
  for (int k = 1; k <= stages; ++k) {
    for (int n = k; n <= layers - (stages - k); ++n) {
      for (int begin = n - 1; begin >= k - 1; --begin) {
        const double last = seconds(k - 1, begin, n);
        const double worst = std::max(longest[at(k - 1, begin)], last);
        if (worst < longest[at(k, n)]) {
          longest[at(k, n)] = worst;
          from[at(k, n)] = begin;
        }
        if (last > longest[at(k, n)]) break;  // a longer last stage is no better
      }
    }
  }
  std::vector<int> out(static_cast<std::size_t>(stages));
  for (int k = stages, n = layers; k > 0; --k) {
    const int begin = from[at(k, n)];
    out[static_cast<std::size_t>(k - 1)] = n - begin;
    n = begin;
  }
  return out;
}

}  // namespace paceline::sim
