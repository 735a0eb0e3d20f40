// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "sim/search/bound.hpp"
#include "sim/search/space.hpp"

namespace paceline::sim {

/// All points of a space with the same degrees, microbatch and sequence parallelism: their layers
/// cost the same.
struct Branch {
  Layout layout;  ///< the rest as of the first point
  double least_seconds = std::numeric_limits<double>::infinity();  ///< infinite: nothing divides
  double value = 0;                                                ///< of the objective
};

std::vector<Branch> make_branches(const models::Scenario& scenario, const SearchSpace& space);
/// Of the points of a branch: schedules that take no chunks count once.
double branch_points(const SearchSpace& space, const Branch& branch);

/// No point of the branch takes less: one microbatch after another on ranks that are never idle.
/// Infinite where the degrees do not divide. Changes the scenario's layout, as all here do.
double least_branch_seconds(models::Scenario& scenario, const SearchSpace& space,
                            const Branch& branch);

/// Of schedules and shapes that were looked at, for all threads; null: refused.
class FactsCache {
 public:
  std::shared_ptr<const OrderFacts> get(const models::Scenario& scenario, int microbatches);

 private:
  std::mutex mutex_;
  std::map<std::tuple<std::string, int, int, int, double>, std::shared_ptr<const OrderFacts>>
      known_;
};

struct BoundedPoint {
  Layout layout;
  Bound bound;
  int cut = -1;  ///< into BranchBounds::cuts; -1: the stack's
};

/// Memory of orders that depend on the stage times, which a bound leaves open: from the very
/// Program.
class ExactOrders {
 public:
  /// 0 where it is no more than the bound.
  double least_bytes(const models::Scenario& scenario);

 private:
  using Key = std::tuple<std::string, int, std::vector<int>, models::Recompute, int, double>;
  std::map<Key, std::shared_ptr<const OrderFacts>> known_;
};

struct BranchBounds {
  ExactOrders exact;
  std::vector<BoundedPoint> points;    ///< those that divide
  std::vector<std::vector<int>> cuts;  ///< layers by stage
  const std::vector<int>& cut_of(const BoundedPoint& point) const;
};

BranchBounds bound_branch(models::Scenario& scenario, const SearchSpace& space,
                          const Branch& branch, FactsCache& cache);

}  // namespace paceline::sim
