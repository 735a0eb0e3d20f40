// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/sweep.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/message.hpp"
#include "base/unknown_key.hpp"
#include "models/scenario/scenario.hpp"
#include "models/scenario/set_values.hpp"

namespace paceline::models {
namespace {

constexpr std::size_t kMostTried = 200;  ///< scenarios read before anything runs

std::string over(const std::string& path) { return "--over " + base::one_line(path); }

std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(kBlanks) - first + 1));
}

/// Parts between commas that stand outside of brackets, braces and quotes.
std::vector<std::string> split_values(std::string_view text) {
  std::vector<std::string> values;
  std::size_t begin = 0;
  int depth = 0;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth <= 0) {
      values.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  values.push_back(trimmed(text.substr(begin)));
  return values;
}

/// One path leads to the other.
bool overlap(const std::string& a, const std::string& b) {
  return a.starts_with(b + ".") || b.starts_with(a + ".");
}

void check_paths(const std::vector<SweepAxis>& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (axes[i].path == axes[k].path) {
        throw base::Error(over(axes[i].path), "is given twice", "give all values in one list");
      }
      if (overlap(axes[i].path, axes[k].path)) {
        throw base::Error(over(axes[i].path), "and " + axes[k].path + " change the same values",
                          "vary one of them");
      }
    }
  }
}

std::size_t count_points(const std::vector<SweepAxis>& axes, bool zip, std::size_t most) {
  std::size_t points = zip ? axes.front().values.size() : 1;
  for (const SweepAxis& axis : axes) {
    const std::size_t values = axis.values.size();
    if (zip && values != points) {
      throw base::Error(over(axis.path),
                        "has " + std::to_string(values) + " values, " + axes.front().path +
                            " has " + std::to_string(points),
                        "--zip pairs lists of equal length");
    }
    if (!zip) points *= values;
    if (points <= most) continue;
    throw base::Error("--over", "makes more than " + std::to_string(most) + " points",
                      "shorter lists, or --sample");
  }
  return points;
}

/// A value as YAML, and the way to it, alone and after the axes before it.
void check_values(const Sweep& sweep) {
  base::Document first = sweep.base;
  for (const SweepAxis& axis : sweep.axes) {
    for (const std::string& value : axis.values) base::parse_yaml(value, over(axis.path));
    base::set_path(first, axis.path, axis.values.front());
  }
}

/// Points that differ from the first in one axis; zipped or chosen: the first ones.
std::vector<std::size_t> looked_at(const Sweep& sweep) {
  std::vector<std::size_t> points;
  if (sweep.zip || !sweep.chosen.empty()) {
    for (std::size_t p = 0; p < std::min(sweep.points, kMostTried); ++p) points.push_back(p);
    return points;
  }
  points.push_back(0);
  std::size_t step = sweep.points;
  for (const SweepAxis& axis : sweep.axes) {
    step /= axis.values.size();
    for (std::size_t v = 1; v < axis.values.size() && points.size() < kMostTried; ++v) {
      points.push_back(v * step);
    }
  }
  return points;
}

/// What reading a scenario comes to.
struct Trial {
  bool good = false;
  std::string error;
  std::optional<base::UnknownKey> unknown;
  bool names(const std::string& path) const {
    return unknown && (unknown->path == path || path.starts_with(unknown->path + "."));
  }
};

Trial try_settings(const Sweep& sweep, const std::vector<std::string>& settings) {
  Trial trial;
  try {
    base::Document document = sweep.base;
    set_values(document, settings);
    read_scenario(document);
    trial.good = true;
  } catch (const base::UnknownKey& unknown) {
    trial.unknown = unknown;
    trial.error = unknown.what();
  } catch (const base::Error& error) {
    trial.error = error.what();
  }
  return trial;
}

/// Tries the axis on the scenario alone and beside each value of another axis, which may be what
/// makes its key known. An error that is there without the axis too says nothing about it.
std::optional<base::UnknownKey> never_known(const Sweep& sweep, const SweepAxis& axis) {
  std::vector<std::vector<std::string>> beside{{}};
  for (const SweepAxis& other : sweep.axes) {
    for (const std::string& value : other.values) {
      if (other.path == axis.path || beside.size() >= kMostTried) break;
      beside.push_back({other.path + "=" + value});
    }
  }
  std::optional<base::UnknownKey> unknown;
  for (std::vector<std::string>& settings : beside) {
    const std::string error = try_settings(sweep, settings).error;
    settings.push_back(axis.path + "=" + axis.values.front());
    const Trial trial = try_settings(sweep, settings);
    if (trial.names(axis.path)) {
      unknown = trial.unknown;
    } else if (trial.error != error || trial.good) {
      return std::nullopt;
    }
  }
  return unknown;
}

}  // namespace

SweepAxis parse_axis(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    throw base::Error("--over " + base::quote(text), "is no path=a,b,c",
                      "for example --over parallel.tp=1,2,4");
  }
  SweepAxis axis{text.substr(0, equals), split_values(std::string_view(text).substr(equals + 1))};
  std::set<std::string_view> seen;
  for (const std::string& value : axis.values) {
    if (value.empty()) {
      throw base::Error(over(axis.path), "an empty value",
                        "values are separated by single commas; null takes the key out");
    }
    if (!seen.insert(value).second) {
      throw base::Error(over(axis.path), base::quote(value) + " is in the list twice");
    }
  }
  return axis;
}

Sweep make_sweep(base::Document scenario, std::vector<SweepAxis> axes, bool zip, std::size_t most) {
  if (axes.empty()) {
    throw base::Error("sweep", "nothing varies", "for example --over parallel.tp=1,2,4");
  }
  check_paths(axes);
  Sweep sweep;
  sweep.points = count_points(axes, zip, most);
  sweep.base = std::move(scenario);
  sweep.axes = std::move(axes);
  sweep.zip = zip;
  check_values(sweep);
  return sweep;
}

std::vector<std::string> grid_values(const Sweep& sweep, std::size_t place) {
  std::vector<std::string> values(sweep.axes.size());
  for (std::size_t a = sweep.axes.size(); a-- > 0;) {
    const std::vector<std::string>& list = sweep.axes[a].values;
    values[a] = list[sweep.zip ? place : place % list.size()];
    if (!sweep.zip) place /= list.size();
  }
  return values;
}

std::vector<std::string> point_values(const Sweep& sweep, std::size_t point) {
  return grid_values(sweep, sweep.chosen.empty() ? point : sweep.chosen.at(point));
}

std::vector<std::string> point_settings(const Sweep& sweep, std::size_t point) {
  std::vector<std::string> settings = point_values(sweep, point);
  for (std::size_t a = 0; a < settings.size(); ++a) {
    settings[a] = sweep.axes[a].path + "=" + settings[a];
  }
  return settings;
}

base::Document point_document(const Sweep& sweep, std::size_t point) {
  base::Document document = sweep.base;
  set_values(document, point_settings(sweep, point));
  return document;
}

void check_sweep(const Sweep& sweep) {
  std::vector<std::string> errors;
  for (const std::size_t point : looked_at(sweep)) {
    const Trial trial = try_settings(sweep, point_settings(sweep, point));
    if (trial.good) return;  // knows every path
    errors.push_back(trial.error);
  }
  for (const SweepAxis& axis : sweep.axes) {
    if (const auto unknown = never_known(sweep, axis)) {
      throw base::Error(over(unknown->path), "unknown key", unknown->hint);
    }
  }
  const std::string alone = try_settings(sweep, {}).error;
  const bool same = std::all_of(errors.begin(), errors.end(),
                                [&](const std::string& error) { return error == alone; });
  if (same) throw base::Error(alone);
}

}  // namespace paceline::models
