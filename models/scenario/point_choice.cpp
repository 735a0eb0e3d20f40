// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/point_choice.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/message.hpp"
#include "base/rng.hpp"
#include "models/scenario/condition.hpp"

namespace paceline::models {
namespace {

std::string last_of(const std::string& path) { return path.substr(path.rfind('.') + 1); }

/// The value of a name at a point: of an axis by path or by the end of its path, else what the
/// scenario says.
std::string value_at(const Sweep& sweep, const std::vector<std::string>& values,
                     const std::string& name) {
  for (std::size_t a = 0; a < sweep.axes.size(); ++a)
    if (sweep.axes[a].path == name) return values[a];
  std::vector<std::string> names;
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    const std::string last = last_of(sweep.axes[a].path);
    if (last == name) return values[a];
    names.push_back(last);
  }
  const base::Value* given = base::find_path(sweep.base.root, name);
  if (given != nullptr && given->kind == base::Value::Kind::Scalar) return given->text;
  throw base::Error("--where", "unknown name " + base::quote(name),
                    base::suggest(name, names, "one of"));
}

/// `count` different numbers below `grid` (Floyd's algorithm).
std::set<std::size_t> drawn(std::size_t grid, std::size_t count, std::uint64_t seed) {
  base::Rng rng(seed);
  std::set<std::size_t> points;
  for (std::size_t j = grid - count; j < grid; ++j) {
    const auto k = static_cast<std::size_t>(rng.below(j + 1));
    if (!points.insert(k).second) points.insert(j);
  }
  return points;
}

/// One shuffled deck of values an axis. Fewer points where two coincide.
std::set<std::size_t> hypercube(const Sweep& sweep, std::size_t count, std::uint64_t seed) {
  base::Rng rng(seed);
  std::vector<std::size_t> points(count, 0);
  for (const SweepAxis& axis : sweep.axes) {
    std::vector<std::size_t> deck(count);
    for (std::size_t i = 0; i < count; ++i) deck[i] = i * axis.values.size() / count;
    for (std::size_t i = count; i > 1; --i)
      std::swap(deck[i - 1], deck[static_cast<std::size_t>(rng.below(i))]);
    for (std::size_t i = 0; i < count; ++i) points[i] = points[i] * axis.values.size() + deck[i];
  }
  return {points.begin(), points.end()};
}

}  // namespace

PointChoice parse_sample(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string how = text.substr(0, colon);
  if (colon == std::string::npos || (how != "random" && how != "latin"))
    throw base::Error("--sample " + base::quote(text), "is neither random:N nor latin:N",
                      "for example --sample latin:200");
  PointChoice choice;
  choice.latin = how == "latin";
  choice.count = static_cast<std::size_t>(base::parse_integer(
      text.substr(colon + 1), "--sample", 1, static_cast<std::int64_t>(kMaxSweepPoints)));
  return choice;
}

void choose_points(Sweep& sweep, const PointChoice& choice) {
  const std::size_t grid = sweep.points;
  std::vector<std::size_t> kept;
  const auto keep = [&](std::size_t point) {
    const std::vector<std::string> values = grid_values(sweep, point);
    const ConditionNames names = [&](const std::string& name) {
      return value_at(sweep, values, name);
    };
    const bool good = std::all_of(choice.where.begin(), choice.where.end(),
                                  [&](const std::string& text) { return holds(text, names); });
    if (good) kept.push_back(point);
  };
  if (choice.count == 0 || choice.count >= grid) {
    for (std::size_t point = 0; point < grid; ++point) keep(point);
  } else {
    const bool latin = choice.latin && !sweep.zip;
    for (const std::size_t point : latin ? hypercube(sweep, choice.count, choice.seed)
                                         : drawn(grid, choice.count, choice.seed))
      keep(point);
  }
  if (kept.empty())
    throw base::Error("--where",
                      "no point meets " + base::quote(choice.where.front()) +
                          (choice.where.size() > 1 ? " and the others" : ""),
                      "wider lists or fewer conditions");
  if (kept.size() == grid) return;
  sweep.chosen = std::move(kept);
  sweep.points = sweep.chosen.size();
}

}  // namespace paceline::models
