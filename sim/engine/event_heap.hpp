// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>
#include <vector>

#include "sim/engine/reference.hpp"

namespace paceline::sim {

/// Events by (time, task), earliest first, in memory of the caller's. Most events that are taken
/// make new ones, so the place at the top stays open until the next push fills it.
class EventHeap {
 public:
  using Event = Workspace::Event;

  explicit EventHeap(std::vector<Event>& memory) : heap_(memory) { heap_.clear(); }

  bool empty() {
    close();
    return heap_.empty();
  }
  /// Only after empty() said no.
  double next_time() const { return heap_.front().time; }
  Event take() {
    open_ = true;
    return heap_.front();
  }
  void push(const Event& event) {
    if (open_) {
      open_ = false;
      sift_down(event);
    } else {
      heap_.push_back(event);
      sift_up(event);
    }
  }

 private:
  /// Without branches: which event is earlier is as good as random.
  static bool earlier(const Event& a, const Event& b) {
    const int before = static_cast<int>(a.time < b.time);
    const int same = static_cast<int>(a.time == b.time);
    return (before | (same & static_cast<int>(a.task < b.task))) != 0;
  }

  void close() {
    if (!open_) return;
    open_ = false;
    const Event last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sift_down(last);
  }

  void sift_down(const Event& event) {
    const std::size_t size = heap_.size();
    std::size_t at = 0;
    for (std::size_t child = 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size)
        child += static_cast<std::size_t>(earlier(heap_[child + 1], heap_[child]));
      if (!earlier(heap_[child], event)) break;
      heap_[at] = heap_[child];
      at = child;
    }
    heap_[at] = event;
  }

  void sift_up(const Event& event) {
    std::size_t at = heap_.size() - 1;
    while (at > 0 && earlier(event, heap_[(at - 1) / 2])) {
      heap_[at] = heap_[(at - 1) / 2];
      at = (at - 1) / 2;
    }
    heap_[at] = event;
  }

  std::vector<Event>& heap_;
  bool open_ = false;
};

}  // namespace paceline::sim
