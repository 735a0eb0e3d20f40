// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "sim/search/incumbents.hpp"
#include "sim/search/search.hpp"

namespace paceline::sim {

/// The lowest few of what has been seen, from several threads.
class Lowest {
 public:
  struct Seen {
    double value = 0;
    Layout layout;
    std::vector<int> stage_layers;
  };
  explicit Lowest(std::size_t kept) : kept_(kept) {}
  void offer(double value, const Layout& layout, const std::vector<int>& stage_layers = {}) {
    if (value >= limit_) return;
    const std::lock_guard lock(mutex_);
    const auto at = std::upper_bound(seen_.begin(), seen_.end(), value,
                                     [](double v, const Seen& s) { return v < s.value; });
    seen_.insert(at, {value, layout, stage_layers});
    if (seen_.size() > kept_) seen_.pop_back();
    if (seen_.size() == kept_) limit_ = seen_.back().value;
  }
  double least() const {
    return seen_.empty() ? std::numeric_limits<double>::infinity() : seen_.front().value;
  }
  const std::vector<Seen>& seen() const { return seen_; }

 private:
  std::size_t kept_;
  std::atomic<double> limit_{std::numeric_limits<double>::infinity()};
  std::mutex mutex_;
  std::vector<Seen> seen_;
};

/// Of what was run the lowest values, from several threads.
class TriedList {
 public:
  explicit TriedList(std::size_t kept) : kept_(kept) {}
  void add(const Candidate& candidate, Verdict verdict) {
    if (kept_ == 0) return;
    const std::lock_guard lock(mutex_);
    tried_.push_back({candidate.layout, candidate.value, candidate.result.step_time,
                      fullest_bytes(candidate.result), verdict});
    if (tried_.size() >= 2 * kept_) cut();
  }
  std::vector<Tried> take() {
    cut();
    return std::move(tried_);
  }

 private:
  void cut() {
    std::stable_sort(tried_.begin(), tried_.end(), [](const Tried& a, const Tried& b) {
      return a.value != b.value ? a.value < b.value : a.bytes < b.bytes;
    });
    if (tried_.size() > kept_) tried_.resize(kept_);
  }
  std::size_t kept_;
  std::mutex mutex_;
  std::vector<Tried> tried_;
};

}  // namespace paceline::sim
