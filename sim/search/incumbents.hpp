// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "sim/search/search.hpp"

namespace paceline::sim {

/// The best layouts found so far, shared by the threads of a search. Layouts that differ in
/// recomputation, ZeRO, offloading or the optimizer's place are one group, of which the best stays.
class Incumbents {
 public:
  explicit Incumbents(int shown) : shown_(static_cast<std::size_t>(shown)) {}
  /// Nothing with a bound this high can enter the answer.
  double threshold() const { return threshold_; }
  /// The same of layouts of this group.
  double threshold(const Layout& layout) const;
  std::optional<double> best() const;
  /// Whether nobody has asked for this layout before.
  bool first(const Layout& layout);
  void offer(Candidate candidate);
  /// Best first, at most as many as are shown.
  std::vector<Candidate> take();

 private:
  using Group = std::tuple<int, std::string_view, int, int, int, int, int, bool, std::int64_t,
                           std::string_view, int, bool>;
  static Group group_of(const Layout& layout);
  std::size_t shown_;
  std::atomic<double> threshold_{std::numeric_limits<double>::infinity()};
  mutable std::mutex mutex_;
  std::map<Group, Candidate> found_;
  std::set<std::tuple<Group, double, models::OptimizerDevice, int, models::Recompute, int>> seen_;
};

/// Reserved by the fullest rank class.
double fullest_bytes(const Result& result);

/// Order of an answer: value, then memory, then the layout itself, so that it does not depend on
/// who found it first.
bool better(const Candidate& a, const Candidate& b);

}  // namespace paceline::sim
