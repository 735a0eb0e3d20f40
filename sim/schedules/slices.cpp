// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/slices.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "sim/schedules/common.hpp"

namespace paceline::sim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr const char* kSliceLengths = "slice lengths";

/// Costs of all slices that begin and end at a step.
class CostTable {
 public:
  CostTable(int length, int step, const SliceCost& cost)
      : steps_((length + step - 1) / step), costs_(at(steps_ + 1, 0)) {
    for (int end = 1; end <= steps_; ++end) {
      for (int start = 0; start < end; ++start) {
        const double seconds = cost(start * step, std::min(end * step, length) - start * step);
        if (!std::isfinite(seconds) || seconds < 0) {
          throw base::Error(kSliceLengths, "a slice costs " + std::to_string(seconds) + " s",
                            "a finite number >= 0 is needed");
        }
        costs_[at(end, start)] = seconds;
      }
    }
  }

  int steps() const { return steps_; }
  double cost(int start, int end) const { return costs_[at(end, start)]; }
  std::vector<double> all() const { return costs_; }

 private:
  static std::size_t at(int end, int start) {
    const auto e = static_cast<std::size_t>(end);
    return e * (e - 1) / 2 + static_cast<std::size_t>(start);
  }
  int steps_;
  std::vector<double> costs_;  ///< by (end, start), start < end
};

/// The least sum over slices of at most `bound` seconds each; `last[e]` is where the slice that
/// ends at step e begins. kNever when some step cannot be reached.
double least_sum(const CostTable& table, double bound, std::vector<double>& sums,
                 std::vector<int>& last) {
  sums.assign(static_cast<std::size_t>(table.steps()) + 1, kNever);
  last.assign(sums.size(), 0);
  sums[0] = 0;
  for (int end = 1; end <= table.steps(); ++end) {
    const auto e = static_cast<std::size_t>(end);
    for (int start = 0; start < end; ++start) {
      const double seconds = table.cost(start, end);
      const double sum = sums[static_cast<std::size_t>(start)] + seconds;
      if (seconds > bound || sum >= sums[e]) continue;
      sums[e] = sum;
      last[e] = start;
    }
  }
  return sums.back();
}

/// Sorted; of values within `tolerance` of the least of them only the greatest stays.
std::vector<double> distinct(std::vector<double> values, double tolerance) {
  std::sort(values.begin(), values.end());
  std::vector<double> kept;
  double least = -kNever;
  for (const double value : values) {
    if (value - least <= tolerance) {
      kept.back() = value;
    } else {
      kept.push_back(least = value);
    }
  }
  return kept;
}

void check_search(int length, int step, int stages) {
  constexpr int kMaxSteps = 1024;
  if (length < 1 || step < 1 || stages < 1) {
    throw base::Error(kSliceLengths, "length, step and stages must be at least 1");
  }
  const int steps = length / step + (length % step != 0 ? 1 : 0);
  if (steps <= kMaxSteps) return;
  throw base::Error(kSliceLengths,
                    std::to_string(length) + " tokens in steps of " + std::to_string(step) +
                        " are too many to search",
                    "a step of at least " + std::to_string(length / kMaxSteps + 1));
}

}  // namespace

Program sliced_program(const PipelineShape& shape, const char* name) {
  constexpr int kMaxSlices = std::numeric_limits<std::int16_t>::max();
  constexpr int kMaxPasses = 100'000'000;
  const int slices = shape.options.slices > 0 ? shape.options.slices : kDefaultSlices;
  const int room = kMaxPasses / shape.stages() / shape.microbatches;
  if (slices > std::min(kMaxSlices, room)) {
    throw base::Error(std::string("schedule ") + name,
                      std::to_string(slices) + " slices of " + std::to_string(shape.microbatches) +
                          " microbatches are too many",
                      "at most " + std::to_string(std::min(kMaxSlices, room)) + " slices");
  }
  Program program = two_pass_program(shape);
  program.slices = slices;
  program.passes[kForward].slices = Direction::Down;
  program.passes[kBackward].slices = Direction::Up;
  for (auto& order : program.order)
    order.reserve(order.capacity() * static_cast<std::size_t>(slices));
  return program;
}

double sliced_seconds(const std::vector<int>& lengths, int stages, const SliceCost& cost) {
  double sum = 0, longest = 0;
  int start = 0;
  for (const int length : lengths) {
    const double seconds = cost(start, length);
    sum += seconds;
    longest = std::max(longest, seconds);
    start += length;
  }
  return sum + (stages - 1) * longest;
}

std::vector<int> best_slice_lengths(int length, int step, int stages, const SliceCost& cost,
                                    double tolerance) {
  check_search(length, step, stages);
  const CostTable table(length, step, cost);
  const std::vector<double> bounds = distinct(table.all(), tolerance);
  std::vector<double> sums;
  std::vector<int> last, best_last;
  double best = kNever;
  const double least = least_sum(table, kNever, sums, last);
  // Below the first bound some step cannot be reached, whatever the slices.
  auto bound = std::partition_point(bounds.begin(), bounds.end(), [&](double seconds) {
    return least_sum(table, seconds, sums, last) == kNever;
  });
  for (; bound != bounds.end(); ++bound) {
    if (least + (stages - 1) * *bound >= best) break;  // a lower sum cannot make up for it
    const double total = least_sum(table, *bound, sums, last) + (stages - 1) * *bound;
    if (total >= best) continue;
    best = total;
    best_last = last;
  }
  std::vector<int> lengths;
  for (int end = table.steps(); end > 0; end = best_last[static_cast<std::size_t>(end)]) {
    const int start = best_last[static_cast<std::size_t>(end)];
    lengths.push_back(std::min(end * step, length) - start * step);
  }
  std::reverse(lengths.begin(), lengths.end());
  return lengths;
}

}  // namespace paceline::sim
