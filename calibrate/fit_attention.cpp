// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "base/text.hpp"
#include "calibrate/fits.hpp"
#include "calibrate/robust.hpp"
#include "models/workload/kernel_calls.hpp"

namespace paceline::calibrate {
namespace {

using models::AttentionCurve;

/// What `attention:` of scenarios calls the kernel that was measured.
const char* id_of(const std::string& kernel) {
  return kernel == "attention-cudnn" ? "cudnn-9" : "paceline";
}

struct Call {
  double sequence = 0, flops = 0, seconds = 0;
  bool backward = false;
  std::string label;
};

double value(const base::Sample& s, std::string_view name, double fallback) {
  const auto found = extent(s, name);
  return found ? static_cast<double>(*found) : fallback;
}

/// Rates by sequence, forward and backward; the medians of what was measured at each.
std::vector<models::AttentionPoint> points_of(const std::vector<Call>& calls, double launch) {
  std::map<double, std::array<std::vector<double>, 2>> rates;
  for (const Call& c : calls)
    rates[c.sequence][c.backward ? 1 : 0].push_back(c.flops /
                                                    std::max(c.seconds - launch, c.seconds / 10));
  std::vector<models::AttentionPoint> points;
  for (const auto& [sequence, both] : rates) {
    if (both[0].empty() || both[1].empty()) continue;
    points.push_back(
        {sequence, base::FlopsPerSecond(median(both[0])), base::FlopsPerSecond(median(both[1]))});
  }
  return points;
}

double predicted(const AttentionCurve& curve, const Call& call, double launch) {
  models::KernelModel model;
  model.attention = &curve;
  model.launch = launch;
  return models::attention_time(model, call.flops, call.sequence, call.backward).value;
}

CurveReport report_of(const std::string& name, const AttentionCurve& curve,
                      const std::vector<Call>& calls, double launch) {
  std::vector<Judged> rows;
  for (const Call& c : calls) {
    Judged row{c.seconds, predicted(curve, c, launch), {}, c.label};
    AttentionCurve others = curve;
    std::erase_if(others.points,
                  [&](const models::AttentionPoint& p) { return p.sequence == c.sequence; });
    const bool inside = !others.points.empty() && others.points.front().sequence < c.sequence &&
                        others.points.back().sequence > c.sequence;
    if (inside) row.held_out = predicted(others, c, launch);
    rows.push_back(row);
  }
  const models::AttentionPoint& last = curve.points.back();
  return judge(name,
               base::format_fixed(last.forward.value / 1e9, 1) + " and " +
                   base::format_fixed(last.backward.value / 1e9, 1) + " GFLOP/s at " +
                   base::format_fixed(last.sequence, 0),
               kAttentionBound, rows);
}

}  // namespace

double attention_flops(const base::Sample& s) {
  const double queries = value(s, "queries", 1), keys = value(s, "keys", 1);
  const bool causal = value(s, "causal", 1) != 0;
  // The last query sees all keys, the one before it one fewer.
  const double pairs = causal ? queries * std::max(keys - queries / 2, keys / 2) : queries * keys;
  const double forward =
      4 * value(s, "batch", 1) * value(s, "heads", 1) * pairs * value(s, "head_dim", 1);
  return s.pass == "backward" ? 2.5 * forward : forward;
}

AttentionFit fit_attention(const std::vector<Measured>& samples, double launch) {
  using Key =
      std::tuple<std::string, std::string, std::int64_t, bool>;  // kernel, type, head_dim, causal
  std::map<Key, std::vector<Call>> groups;
  for (const Measured& m : samples) {
    const base::Sample& s = m.sample;
    if (models::kernel_kind(s.kernel).law != models::KernelLaw::Attention || !s.beside.empty())
      continue;
    if (s.pass != "forward" && s.pass != "backward")
      throw base::Error(m.where + ": pass", "'" + s.pass + "' is no pass of attention",
                        "forward or backward");
    if (value(s, "documents", 1) > 1) continue;  // a curve over one sequence is asked for
    groups[{s.kernel, s.type, extent(s, "head_dim").value_or(0), value(s, "causal", 1) != 0}]
        .push_back({value(s, "queries", 1), attention_flops(s), s.median.value,
                    s.pass == "backward", sample_label(s)});
  }
  AttentionFit fit;
  for (const auto& [key, calls] : groups) {
    const auto& [kernel, type, head_dim, causal] = key;
    const std::string name = kernel + " " + type + " head_dim " + std::to_string(head_dim) +
                             (causal ? "" : " not causal");
    AttentionCurve curve;
    curve.kernel = id_of(kernel);
    curve.head_dim = static_cast<int>(head_dim);
    curve.causal = causal;
    curve.precision = models::precision_named(type);
    curve.points = points_of(calls, launch);
    if (curve.points.empty() || !curve.precision || head_dim < 1 || head_dim > 1024) {
      fit.notes.push_back(name + ": no curve, forward and backward of one sequence are needed");
      continue;
    }
    fit.reports.push_back(report_of(name, curve, calls, launch));
    fit.curves.push_back(std::move(curve));
  }
  return fit;
}

}  // namespace paceline::calibrate
