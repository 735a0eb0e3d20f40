// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.hpp"
#include "calibrate/fits.hpp"
#include "calibrate/robust.hpp"

/// Constants that are one line or one number: memory, launches, copies, overlap, power.
namespace paceline::calibrate {
namespace {

using models::CurvePoint;

bool is(const Measured& m, std::string_view kernel) {
  return m.sample.kernel == kernel && m.sample.beside.empty();
}

double type_bytes(const std::string& type) {
  if (type == "fp32" || type == "i32" || type == "u32") return 4;
  if (type == "bf16" || type == "fp16") return 2;
  return 1;
}

/// Bytes moved, also where an imported sample does not say.
double moved(const base::Sample& s) {
  if (s.bytes.value > 0) return s.bytes.value;
  if (const auto bytes = extent(s, "bytes")) return 2 * static_cast<double>(*bytes);
  return 3 * type_bytes(s.type) * static_cast<double>(extent(s, "count").value_or(0));
}

struct LinePoints {
  std::vector<CurvePoint> points;
  std::vector<std::string> labels;
};

/// A line with its report; the held-out values are those of the line without the point.
Line line_report(const std::string& name, const std::string& law_of, const LinePoints& in,
                 std::vector<CurveReport>& reports) {
  const Line line = fit_line(in.points);
  std::vector<Judged> rows;
  for (std::size_t i = 0; i < in.points.size(); ++i) {
    Judged row{in.points[i].y, line.at(in.points[i].x), {}, in.labels[i]};
    if (in.points.size() >= 3) {
      std::vector<CurvePoint> others = in.points;
      others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
      row.held_out = fit_line(others).at(in.points[i].x);
    }
    rows.push_back(row);
  }
  std::string law;
  if (line.slope > 0) law = base::format_rate(base::BytesPerSecond(1 / line.slope));
  if (line.latency > 0)
    law += (law.empty() ? "" : ", ") + base::format_seconds(base::Seconds(line.latency));
  reports.push_back(judge(name, law + law_of, kLineBound, rows));
  return line;
}

}  // namespace

RoofFit fit_roof(const std::vector<Measured>& samples) {
  constexpr double kLarge = 8;  // sizes down to this part of the largest are far beyond caches
  LinePoints all, large;
  double most = 0;
  for (const Measured& m : samples)
    if (is(m, "triad") || is(m, "copy-d2d")) most = std::max(most, moved(m.sample));
  for (const Measured& m : samples) {
    if (!is(m, "triad") && !is(m, "copy-d2d")) continue;
    if (moved(m.sample) < most / kLarge || !(moved(m.sample) > 0)) continue;
    large.points.push_back({moved(m.sample), m.sample.median.value});
    large.labels.push_back(sample_label(m.sample));
  }
  RoofFit fit;
  if (large.points.empty()) return fit;
  const Line line = line_report("memory roof", "", large, fit.reports);
  if (line.slope > 0) fit.rate = 1 / line.slope;
  return fit;
}

LaunchFit fit_launch(const std::vector<Measured>& samples) {
  LinePoints in;
  for (const Measured& m : samples) {
    if (!is(m, "launch")) continue;
    in.points.push_back(
        {static_cast<double>(extent(m.sample, "count").value_or(1)), m.sample.median.value});
    in.labels.push_back(sample_label(m.sample));
  }
  LaunchFit fit;
  if (in.points.empty()) return fit;
  const auto same = [&](const CurvePoint& p) { return p.x == in.points.front().x; };
  std::vector<double> each;
  for (const CurvePoint& p : in.points) each.push_back(p.y / p.x);
  // Of one number of launches no line can be told: all of the time is theirs.
  const bool one_number = std::all_of(in.points.begin(), in.points.end(), same);
  const Line line = one_number ? Line{0, median(each)} : fit_line(in.points);
  fit.seconds = line.slope;
  std::vector<Judged> rows;
  for (std::size_t i = 0; i < in.points.size(); ++i)
    rows.push_back({in.points[i].y, line.at(in.points[i].x), {}, in.labels[i]});
  fit.reports.push_back(
      judge("launch", base::format_seconds(base::Seconds(*fit.seconds)), kLineBound, rows));
  return fit;
}

CopyFit fit_copies(const std::vector<Measured>& samples) {
  CopyFit fit;
  for (const char* kernel : {"copy-h2d", "copy-d2h"}) {
    LinePoints in;
    for (const Measured& m : samples) {
      if (!is(m, kernel)) continue;
      in.points.push_back({*models::kernel_size(models::kernel_kind(kernel), m.sample.extents),
                           m.sample.median.value});
      in.labels.push_back(sample_label(m.sample));
    }
    if (in.points.empty()) continue;
    const Line line = line_report(kernel, "", in, fit.reports);
    if (!(line.slope > 0)) continue;
    const models::CopyLaw law{base::Seconds(line.latency), base::BytesPerSecond(1 / line.slope)};
    (std::string_view(kernel) == "copy-h2d" ? fit.to_device : fit.to_host) = law;
  }
  return fit;
}

OverlapFit fit_overlap(const std::vector<Measured>& samples) {
  std::map<std::string, double> alone;
  for (const Measured& m : samples)
    if (m.sample.beside.empty()) alone.emplace(sample_label(m.sample), m.sample.median.value);
  std::vector<double> factors;
  std::vector<Judged> rows;
  for (const Measured& m : samples) {
    if (m.sample.beside.empty()) continue;
    base::Sample same = m.sample;
    same.beside.clear();
    const auto found = alone.find(sample_label(same));
    if (found == alone.end()) continue;
    factors.push_back(m.sample.median.value / found->second);
    rows.push_back({m.sample.median.value, found->second, {}, sample_label(m.sample)});
  }
  OverlapFit fit;
  if (rows.empty()) return fit;
  fit.slowdown = std::max(1.0, median(factors));
  for (Judged& row : rows) row.predicted *= *fit.slowdown;
  fit.reports.push_back(
      judge("overlap slowdown", base::format_fixed(*fit.slowdown, 2), kLineBound, rows));
  return fit;
}

std::vector<models::PowerDraw> fit_power(const std::vector<Measured>& samples) {
  std::map<std::string, std::vector<double>> watts;
  for (const Measured& m : samples) {
    if (!m.sample.power || !m.sample.beside.empty()) continue;
    switch (models::kernel_kind(m.sample.kernel).law) {
      case models::KernelLaw::Gemm:
        watts["gemm"].push_back(m.sample.power->value);
        break;
      case models::KernelLaw::Attention:
        watts["attention"].push_back(m.sample.power->value);
        break;
      case models::KernelLaw::Curve:
        watts["memory"].push_back(m.sample.power->value);
        break;
      case models::KernelLaw::Copy:
      case models::KernelLaw::Launch:
      case models::KernelLaw::Collective:
        break;
    }
  }
  std::vector<models::PowerDraw> draws;
  for (const auto& [work, values] : watts) draws.push_back({work, base::Watts(median(values))});
  return draws;
}

}  // namespace paceline::calibrate
