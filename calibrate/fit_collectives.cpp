// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>

#include "base/error.hpp"
#include "base/text.hpp"
#include "calibrate/curve_fit.hpp"
#include "calibrate/fits.hpp"
#include "calibrate/robust.hpp"

namespace paceline::calibrate {
namespace {

using models::CollectiveOp;

struct Group {
  std::vector<CurveSample> samples;
  std::string source;
};
using Key = std::tuple<CollectiveOp, int, int>;  // op, ranks, nodes

int whole(const Measured& m, std::string_view name, int low, int fallback) {
  const auto found = extent(m.sample, name);
  if (!found && fallback > 0) return fallback;
  if (!found || *found < low || *found > models::kMaxLogRanks)
    throw base::Error(m.where + ": extents." + std::string(name),
                      found ? "is out of range" : "is missing",
                      "a collective has bytes, ranks of at least 2 and nodes");
  return static_cast<int>(*found);
}

std::string file_name(const std::string& path) {
  return std::filesystem::path(path).filename().string();
}

void add_source(Group& group, const std::string& source) {
  if (group.source.find(source) != std::string::npos) return;
  group.source += (group.source.empty() ? "" : ", ") + source;
}

std::map<Key, Group> groups_of(const std::vector<Measured>& samples,
                               const std::vector<models::NcclLog>& logs) {
  std::map<Key, Group> groups;
  std::map<Key, std::string> types;
  for (const Measured& m : samples) {
    const base::Sample& s = m.sample;
    if (models::kernel_kind(s.kernel).law != models::KernelLaw::Collective || !s.beside.empty())
      continue;
    const Key key{*models::collective_named(s.kernel), whole(m, "ranks", 2, 0),
                  whole(m, "nodes", 1, 1)};
    // One curve by bytes: of the first type, since adding differs from type to type.
    if (types.try_emplace(key, s.type).first->second != s.type) continue;
    const auto bytes = *models::kernel_size(models::kernel_kind(s.kernel), s.extents);
    groups[key].samples.push_back({{bytes, s.median.value}, sample_label(s)});
    add_source(groups[key], file_name(m.where.substr(0, m.where.find(':'))));
  }
  for (const models::NcclLog& log : logs) {
    Group& group = groups[{log.op, log.ranks, log.nodes}];
    for (const models::NcclLogRow& row : log.rows)
      group.samples.push_back(
          {{row.size.value, row.out_of_place.value}, log.file + ":" + std::to_string(row.line)});
    add_source(group, file_name(log.file) + (log.nccl.empty() ? "" : ", NCCL " + log.nccl));
  }
  return groups;
}

std::string regime_text(const models::MeasuredCollective& measured) {
  std::string text;
  for (const auto& r : measured.regimes)
    text += (text.empty() ? "" : "; ") + ("from " + base::format_bytes(r.from)) + " " +
            base::format_seconds(r.latency) +
            (r.rate.value > 0 ? " + " + base::format_rate(r.rate) : std::string());
  return text;
}

}  // namespace

CollectiveFit fit_collectives(const std::vector<Measured>& samples,
                              const std::vector<models::NcclLog>& logs) {
  CollectiveFit fit;
  for (auto& [key, group] : groups_of(samples, logs)) {
    const auto& [op, ranks, nodes] = key;
    std::string name = std::string(to_text(op)) + " " + std::to_string(ranks) + " ranks";
    if (nodes > 1) name += " of " + std::to_string(nodes) + " nodes";
    CurveFit curve = fit_curve(name, kCollectiveBound, std::move(group.samples));
    models::MeasuredCollective measured{op, ranks, nodes, group.source, curve.points, {}};
    for (const Regime& r : fit_regimes(curve.points))
      measured.regimes.push_back({base::Bytes(curve.points[r.begin].x),
                                  base::Bytes(curve.points[r.end - 1].x),
                                  base::Seconds(r.line.latency),
                                  base::BytesPerSecond(r.line.slope > 0 ? 1 / r.line.slope : 0)});
    curve.report.law = regime_text(measured);
    fit.curves.push_back(std::move(measured));
    fit.reports.push_back(std::move(curve.report));
  }
  return fit;
}

}  // namespace paceline::calibrate
