// SPDX-License-Identifier: Apache-2.0
#include "sim/search/incumbents.hpp"

#include <algorithm>

namespace paceline::sim {
namespace {

auto all_of(const Layout& l) {
  return std::make_tuple(l.devices, l.order, l.tp, l.cp, l.pp, l.ep, l.etp, !l.sequence_parallel,
                         l.micro, l.schedule, l.chunks, l.balanced, l.offload, l.optimizer, l.zero,
                         l.recompute.kind, l.recompute.percent);
}

}  // namespace

double fullest_bytes(const Result& result) {
  double bytes = 0;
  for (const MemoryPeak& peak : result.memory) bytes = std::max(bytes, peak.reserved_bytes);
  return bytes;
}

bool better(const Candidate& a, const Candidate& b) {
  if (a.value != b.value) return a.value < b.value;
  const double left = fullest_bytes(a.result), right = fullest_bytes(b.result);
  if (left != right) return left < right;
  return all_of(a.layout) < all_of(b.layout);
}

Incumbents::Group Incumbents::group_of(const Layout& l) {
  return {l.devices,           l.order, l.tp,       l.cp,     l.pp,      l.ep, l.etp,
          l.sequence_parallel, l.micro, l.schedule, l.chunks, l.balanced};
}

double Incumbents::threshold(const Layout& layout) const {
  const std::lock_guard lock(mutex_);
  const auto found = found_.find(group_of(layout));
  const double all = threshold_;
  return found == found_.end() ? all : std::min(all, found->second.value);
}

std::optional<double> Incumbents::best() const {
  const std::lock_guard lock(mutex_);
  std::optional<double> best;
  for (const auto& [group, candidate] : found_)
    best = std::min(best.value_or(candidate.value), candidate.value);
  return best;
}

bool Incumbents::first(const Layout& l) {
  const std::lock_guard lock(mutex_);
  return seen_
      .emplace(group_of(l), l.offload, l.optimizer, l.zero, l.recompute.kind, l.recompute.percent)
      .second;
}

void Incumbents::offer(Candidate candidate) {
  const std::lock_guard lock(mutex_);
  const Group group = group_of(candidate.layout);
  const auto found = found_.find(group);
  if (found == found_.end())
    found_.emplace(group, std::move(candidate));
  else if (better(candidate, found->second))
    found->second = std::move(candidate);
  if (found_.size() < shown_) return;
  std::vector<double> values;
  for (const auto& [key, c] : found_) values.push_back(c.value);
  const auto last = values.begin() + static_cast<std::ptrdiff_t>(shown_ - 1);
  std::nth_element(values.begin(), last, values.end());
  threshold_ = *last;
  std::erase_if(found_, [&](const auto& entry) { return entry.second.value > *last; });
}

std::vector<Candidate> Incumbents::take() {
  const std::lock_guard lock(mutex_);
  std::vector<Candidate> all;
  for (auto& [group, candidate] : found_) all.push_back(std::move(candidate));
  std::sort(all.begin(), all.end(), better);
  if (all.size() > shown_) all.resize(shown_);
  return all;
}

}  // namespace paceline::sim
