// SPDX-License-Identifier: Apache-2.0
#include "sim/convergence/mixing.hpp"

#include <cmath>
#include <numeric>

#include "base/json.hpp"
#include "base/rng.hpp"

namespace paceline::sim::convergence {
namespace {

Mixing zeros(int workers) {
  return Mixing(static_cast<std::size_t>(workers),
                std::vector<double>(static_cast<std::size_t>(workers), 0.0));
}

}  // namespace

Mixing complete_mixing(int workers) {
  Mixing m = zeros(workers);
  for (auto& row : m) row.assign(row.size(), 1.0 / workers);
  return m;
}

Mixing ring_mixing(int workers) {
  if (workers < 3) return complete_mixing(workers);
  Mixing m = zeros(workers);
  for (int w = 0; w < workers; ++w) {
    auto& row = m[static_cast<std::size_t>(w)];
    row[static_cast<std::size_t>(w)] = 1.0 / 3;
    row[static_cast<std::size_t>((w + 1) % workers)] = 1.0 / 3;
    row[static_cast<std::size_t>((w + workers - 1) % workers)] = 1.0 / 3;
  }
  return m;
}

Mixing pair_mixing(int workers, std::uint64_t seed, std::uint64_t round) {
  Mixing m = zeros(workers);
  std::vector<std::size_t> order(m.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  base::Rng rng(base::Rng(seed).next() ^ round);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  for (std::size_t i = 0; i + 1 < order.size(); i += 2) {
    const std::size_t a = order[i], b = order[i + 1];
    m[a][a] = m[a][b] = m[b][a] = m[b][b] = 0.5;
  }
  if (order.size() % 2 == 1) m[order.back()][order.back()] = 1;
  return m;
}

std::string not_doubly_stochastic(const Mixing& mixing) {
  constexpr double kClose = 1e-9;
  const auto off = [](const char* what, std::size_t at, double sum) {
    return std::string(what) + " " + std::to_string(at) + " adds up to " + base::shortest(sum) +
           ", not 1";
  };
  for (std::size_t r = 0; r < mixing.size(); ++r) {
    for (const double share : mixing[r]) {
      if (!(share >= 0 && share <= 1))
        return "row " + std::to_string(r) + " has a share of " + base::shortest(share);
    }
    const double sum = std::accumulate(mixing[r].begin(), mixing[r].end(), 0.0);
    if (!(std::fabs(sum - 1) <= kClose)) return off("row", r, sum);
  }
  for (std::size_t c = 0; c < mixing.size(); ++c) {
    double sum = 0;
    for (const auto& row : mixing) sum += row[c];
    if (!(std::fabs(sum - 1) <= kClose)) return off("column", c, sum);
  }
  return "";
}

Mixing read_mixing(base::Fields& fields, std::string_view key, int workers) {
  Mixing m;
  const auto count = static_cast<std::size_t>(workers);
  for (const base::Value& row : fields.list(key)) {
    if (row.kind != base::Value::Kind::List || row.items.size() != count) {
      throw base::Error(fields.where(row, key), "row " + std::to_string(m.size()) +
                                                    " is no list of " + std::to_string(count) +
                                                    " shares, one per worker");
    }
    m.emplace_back();
    for (const base::Value& item : row.items)
      m.back().push_back(base::parse_number(item.text, fields.where(item, key), 0, 1));
  }
  if (m.size() != count)
    fields.fail(
        key, "has " + std::to_string(m.size()) + " rows for " + std::to_string(count) + " workers");
  const std::string problem = not_doubly_stochastic(m);
  if (!problem.empty())
    fields.fail(key, "is not doubly stochastic: " + problem, "rows and columns must add up to 1");
  return m;
}

}  // namespace paceline::sim::convergence
