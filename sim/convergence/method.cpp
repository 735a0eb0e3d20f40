// SPDX-License-Identifier: Apache-2.0
#include "sim/convergence/method.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/table.hpp"

namespace paceline::sim::convergence {

double rate_at(const RateSchedule& schedule, double rate, std::int64_t number, std::int64_t steps) {
  const double warm = std::floor(schedule.warm_up * static_cast<double>(steps));
  const auto at = static_cast<double>(number);
  if (at < warm) return rate * (at + 1) / warm;
  const double rest = static_cast<double>(steps) - warm;
  const double part = rest > 1 ? (at - warm) / (rest - 1) : 0;
  switch (schedule.shape) {
    case RateSchedule::Shape::Constant:
      return rate;
    case RateSchedule::Shape::Linear:
      return rate * (1 - (1 - schedule.floor) * part);
    case RateSchedule::Shape::Cosine:
      return rate *
             (schedule.floor + (1 - schedule.floor) * (1 + std::cos(std::numbers::pi * part)) / 2);
  }
  return rate;
}

std::span<const MethodKind> method_kinds() {
  static constexpr std::array kKinds{
#define PACELINE_METHOD(function, name, summary) MethodKind{name, summary, &function},
#include "sim/convergence/methods/list.def"
#undef PACELINE_METHOD
  };
  return kKinds;
}

Method read_method(base::Fields& fields) {
  const std::string name = fields.text("kind");
  return base::find(method_kinds(), name, fields.where("kind"), "method").read(fields);
}

void clip_norm(std::span<float> gradient, double clip) {
  if (clip <= 0) return;
  double sum = 0;
  for (const float g : gradient) sum += static_cast<double>(g) * static_cast<double>(g);
  const double norm = std::sqrt(sum);
  if (!(norm > clip)) return;
  for (float& g : gradient) g = static_cast<float>(static_cast<double>(g) * (clip / norm));
}

Watch::Watch(const Objective& objective, const Training& training, std::int64_t total,
             const std::atomic<bool>& stop)
    : objective_(objective), stop_(stop), total_(total), points_(training.points) {
  add_point(0, 0, objective.start);
  // Far beyond anything that comes back.
  bound_ = 1e6 * std::max(1.0, std::fabs(run_.curve.front().loss));
}

void Watch::add_point(std::int64_t done, double bytes, std::span<const float> weights) {
  const double loss = objective_.loss(weights) - objective_.optimum;
  if (!std::isfinite(loss) || std::fabs(loss) > (bound_ > 0 ? bound_ : 1e300)) {
    if (!run_.diverged) run_.diverged = done;
    return;
  }
  run_.curve.push_back({static_cast<double>(done), loss, bytes});
}

bool Watch::after(std::int64_t done, double loss, double bytes,
                  const std::function<std::vector<float>()>& weights) {
  if (stop_.load(std::memory_order_relaxed)) {
    run_.interrupted = true;
    return false;
  }
  if (!std::isfinite(loss) || std::fabs(loss) > bound_) {
    run_.diverged = done;
    return false;
  }
  // The points divide the steps evenly; the last one is finish()'s.
  const bool due = done < total_ && done * points_ / total_ != (done - 1) * points_ / total_;
  if (due) add_point(done, bytes, weights());
  return !run_.diverged;
}

bool Watch::after(std::int64_t done, double loss, double bytes, std::span<const float> weights) {
  return after(done, loss, bytes,
               [&] { return std::vector<float>(weights.begin(), weights.end()); });
}

Run Watch::finish(std::int64_t done, double bytes, std::span<const float> weights) {
  if (run_.diverged || run_.interrupted) return std::move(run_);
  add_point(done, bytes, weights);
  if (!run_.diverged && objective_.accuracy)
    run_.extra.emplace_back("accuracy", objective_.accuracy(weights));
  return std::move(run_);
}

std::vector<std::vector<std::uint32_t>> shards(const Objective& objective, int workers,
                                               bool sorted) {
  std::vector<std::uint32_t> order(objective.samples);
  std::iota(order.begin(), order.end(), 0U);
  if (!sorted || objective.labels.empty())
    return {static_cast<std::size_t>(workers), std::move(order)};
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return objective.labels[a] < objective.labels[b];
  });
  std::vector<std::vector<std::uint32_t>> parts;
  const auto count = static_cast<std::size_t>(workers);
  for (std::size_t w = 0; w < count; ++w) {
    parts.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(w * order.size() / count),
                       order.begin() + static_cast<std::ptrdiff_t>((w + 1) * order.size() / count));
  }
  return parts;
}

}  // namespace paceline::sim::convergence
