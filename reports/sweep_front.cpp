// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/message.hpp"
#include "reports/sweep.hpp"

namespace paceline::reports {

namespace {

constexpr std::size_t kMostObjectives = 3;
using Scores = std::array<double, kMostObjectives>;

constexpr std::array<Objective, 7> kObjectives{{
    {"time", "step_time_s", [](const SweepRow& r) { return std::optional<double>(r.step_time); }},
    {"cost", "billion_tokens_usd", [](const SweepRow& r) { return r.billion_tokens_usd; }},
    {"energy", "step_j", [](const SweepRow& r) { return r.step_j; }},
    {"memory", "reserved_bytes",
     [](const SweepRow& r) { return std::optional<double>(r.reserved_bytes); }},
    {"traffic", "traffic_bytes",
     [](const SweepRow& r) { return std::optional<double>(r.traffic_bytes); }},
    {"run-time", "run_s", [](const SweepRow& r) { return r.run_s; }},
    {"run-cost", "run_usd", [](const SweepRow& r) { return r.run_usd; }},
}};

const Objective& objective(const std::string& name) {
  for (const Objective& one : kObjectives)
    if (one.name == name) return one;
  std::vector<std::string> names;
  for (const Objective& one : kObjectives) names.emplace_back(one.name);
  throw base::Error("--pareto", "unknown objective " + base::quote(name),
                    base::suggest(name, names, "one of"));
}

struct Scored {
  Scores scores{};
  std::size_t point = 0;
};

/// `a` is nowhere worse than `b` and somewhere better.
bool beats(const Scores& a, const Scores& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] > b[i]) return false;
  return a != b;
}

}  // namespace

std::span<const Objective> objectives() { return kObjectives; }

std::vector<std::string> parse_objectives(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    objective(name);
    if (std::find(names.begin(), names.end(), name) != names.end())
      throw base::Error("--pareto", base::quote(name) + " is named twice");
    names.push_back(name);
    begin = end + 1;
  }
  if (names.size() < 2 || names.size() > kMostObjectives)
    throw base::Error("--pareto " + base::quote(text), "names " + std::to_string(names.size()),
                      "two or three, for example --pareto time,cost");
  return names;
}

std::vector<std::size_t> pareto_front(const std::vector<SweepRow>& rows,
                                      const std::vector<std::string>& names) {
  PACELINE_CHECK(names.size() <= kMostObjectives);
  std::vector<Scored> fitting;
  for (const SweepRow& row : rows) {
    if (row.status != PointStatus::Fits) continue;
    Scored scored{{}, row.point};
    bool known = true;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::optional<double> score = objective(names[i]).of(row);
      known = known && score.has_value();
      scored.scores[i] = score.value_or(0);
    }
    if (known) fitting.push_back(scored);
  }
  // What beats a point comes before it: looking back at the front is enough.
  std::sort(fitting.begin(), fitting.end(), [](const Scored& a, const Scored& b) {
    return std::pair{a.scores, a.point} < std::pair{b.scores, b.point};
  });
  std::vector<Scored> front;
  for (const Scored& one : fitting) {
    const bool beaten = std::any_of(front.begin(), front.end(), [&](const Scored& other) {
      return beats(other.scores, one.scores);
    });
    if (!beaten) front.push_back(one);
  }
  std::vector<std::size_t> points;
  for (const Scored& one : front) points.push_back(one.point);
  std::sort(points.begin(), points.end());
  return points;
}

}  // namespace paceline::reports
