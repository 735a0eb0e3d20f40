// SPDX-License-Identifier: Apache-2.0
#include "calibrate/power_limits.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/config.hpp"
#include "base/error.hpp"
#include "calibrate/robust.hpp"
#include "models/scenario/csv.hpp"

namespace paceline::calibrate {
namespace {

using models::CappedWork;
using models::ClockPower;

/// Parameters are fitted as logits between these, powers in shares of the highest cap.
struct Range {
  double low, high;
  double at(double logit) const { return low + (high - low) / (1 + std::exp(-logit)); }
};
constexpr Range kStill{0.02, 0.45}, kFloor{0.3, 0.95}, kLow{0.05, 0.5}, kBusy{0.4, 1.4},
    kClockBound{0.2, 1}, kHost{0, 0.5};
constexpr double kLogitSigma = 2;  ///< a weak prior: the middle of the range
constexpr double kTimeSigma = 0.02;

double top_cap(const PowerSeries& s) { return s.rows.back().cap; }

bool feels_caps(const PowerSeries& s) { return s.rows.back().watts >= kFeelsCap * top_cap(s); }

/// In shares of the highest cap and of the time under it, without caps nobody claims.
PowerSeries scaled(const PowerSeries& s) {
  PowerSeries out{s.gpu, s.work, {}};
  for (const PowerRow& row : s.rows) {
    if (row.cap < kLeastCap * top_cap(s)) continue;
    out.rows.push_back(
        {row.cap / top_cap(s), row.seconds / s.rows.back().seconds, row.watts / top_cap(s)});
  }
  return out;
}

ClockPower device_of(const std::vector<double>& p) {
  return {kStill.at(p[0]), kFloor.at(p[1]), kLow.at(p[2])};
}
constexpr std::size_t kDevice = 3, kPerWork = 4;

CappedWork work_of(const std::vector<double>& p, std::size_t i) {
  const double* at = p.data() + kDevice + kPerWork * i;
  return {1 + at[0], kBusy.at(at[1]), kClockBound.at(at[2]), kHost.at(at[3])};
}

void add_residuals(std::vector<double>& to, const ClockPower& device, const CappedWork& work,
                   const PowerRow& row) {
  const models::Capped c = models::under_cap(device, work, base::Watts(row.cap));
  to.push_back(c.seconds / row.seconds - 1);
  to.push_back(c.watts / row.watts - 1);
}

/// What a row says relative to the one under the highest cap, where the law knows nothing else of
/// the work.
PowerRow carried(const ClockPower& device, double clock_bound, double host, const PowerRow& top,
                 double cap) {
  CappedWork work{1, models::busy_power(device, host, top.watts), clock_bound, host};
  const models::Capped there = models::under_cap(device, work, base::Watts(top.cap));
  const models::Capped here = models::under_cap(device, work, base::Watts(cap));
  return {cap, top.seconds * here.seconds / there.seconds, top.watts * here.watts / there.watts};
}

CommonPower common_of(const std::vector<double>& p) {
  return {device_of(p), kClockBound.at(p[3]), kHost.at(p[4])};
}

CommonPower fit_common(const std::vector<PowerSeries>& all) {
  const auto residuals = [&](const std::vector<double>& p) {
    const CommonPower c = common_of(p);
    std::vector<double> r;
    for (const PowerSeries& s : all) {
      for (std::size_t i = 0; i + 1 < s.rows.size(); ++i) {
        const PowerRow x = carried(c.device, c.clock_bound, c.host, s.rows.back(), s.rows[i].cap);
        r.push_back(x.seconds / s.rows[i].seconds - 1);
        r.push_back(x.watts / s.rows[i].watts - 1);
      }
    }
    return r;
  };
  return common_of(fit_robust(std::vector<double>(5, 0.0),
                              std::vector<Prior>(5, Prior{0, kLogitSigma}), residuals)
                       .parameters);
}

/// A scaled row in the units of its series.
PowerRow unscaled(const PowerRow& row, const PowerRow& top) {
  return {row.cap * top.cap, row.seconds * top.seconds, row.watts * top.cap};
}

/// `own` are the scaled forms of the series of one GPU, `tops` their rows under the highest cap.
void add_gpu(std::vector<PowerPoint>& points, const std::vector<PowerSeries>& own,
             const std::vector<PowerRow>& tops, const CommonPower& common) {
  const PowerFit fit = fit_power(own);
  for (std::size_t i = 0; i < own.size(); ++i) {
    for (const PowerRow& row : own[i].rows) {
      const models::Capped c = models::under_cap(fit.device, fit.works[i], base::Watts(row.cap));
      PowerPoint point{own[i].gpu, own[i].work, unscaled(row, tops[i]), {}, {}, false};
      point.fitted = unscaled({row.cap, c.seconds, c.watts}, tops[i]);
      point.known = &row == &own[i].rows.back();
      const PowerRow x =
          carried(common.device, common.clock_bound, common.host, own[i].rows.back(), row.cap);
      point.another = unscaled(point.known ? row : x, tops[i]);
      points.push_back(point);
    }
  }
}

}  // namespace

std::vector<PowerSeries> read_power_limits(const std::string& csv_file) {
  const models::Table table = models::parse_csv(base::read_file(csv_file), csv_file);
  const auto column = [&](std::string_view name) {
    const int at = table.find(name);
    if (at < 0) throw base::Error(csv_file, "has no column " + std::string(name));
    return static_cast<std::size_t>(at);
  };
  const std::size_t gpu = column("gpu"), data = column("dataset"), network = column("network"),
                    cap = column("cap_W"), time = column("epoch_s"), mean = column("mean_W");
  std::vector<PowerSeries> all;
  for (const auto& row : table.rows) {
    const std::string work = row[data].text + " " + row[network].text;
    if (all.empty() || all.back().gpu != row[gpu].text || all.back().work != work)
      all.push_back({row[gpu].text, work, {}});
    const auto number = [&](std::size_t at) {
      return base::parse_number(row[at].text, table.where(row[at]), 1e-9, 1e9);
    };
    all.back().rows.push_back({number(cap), number(time), number(mean)});
  }
  for (PowerSeries& s : all) {
    std::sort(s.rows.begin(), s.rows.end(),
              [](const PowerRow& a, const PowerRow& b) { return a.cap < b.cap; });
  }
  return all;
}

PowerFit fit_power(const std::vector<PowerSeries>& series) {
  const std::size_t count = kDevice + kPerWork * series.size();
  std::vector<Prior> priors(count, Prior{0, kLogitSigma});
  for (std::size_t i = 0; i < series.size(); ++i) priors[kDevice + kPerWork * i].sigma = kTimeSigma;
  const auto residuals = [&](const std::vector<double>& p) {
    std::vector<double> r;
    for (std::size_t i = 0; i < series.size(); ++i) {
      for (const PowerRow& row : series[i].rows) add_residuals(r, device_of(p), work_of(p, i), row);
    }
    return r;
  };
  const Fit fit = fit_robust(std::vector<double>(count, 0.0), priors, residuals);
  PowerFit result;
  result.device = device_of(fit.parameters);
  for (std::size_t i = 0; i < series.size(); ++i)
    result.works.push_back(work_of(fit.parameters, i));
  return result;
}

CommonPower common_power(const std::vector<PowerSeries>& all) {
  std::vector<PowerSeries> felt;
  for (const PowerSeries& s : all)
    if (feels_caps(s)) felt.push_back(scaled(s));
  return fit_common(felt);
}

std::vector<PowerPoint> predict_power_limits(const std::vector<PowerSeries>& all) {
  std::vector<std::string> gpus;
  for (const PowerSeries& s : all) {
    if (std::find(gpus.begin(), gpus.end(), s.gpu) == gpus.end()) gpus.push_back(s.gpu);
  }
  std::vector<PowerPoint> points;
  for (const std::string& gpu : gpus) {
    std::vector<PowerSeries> own, others;
    std::vector<PowerRow> tops;
    for (const PowerSeries& s : all) {
      if (!feels_caps(s)) continue;
      (s.gpu == gpu ? own : others).push_back(scaled(s));
      if (s.gpu == gpu) tops.push_back(s.rows.back());
    }
    if (!own.empty() && !others.empty()) add_gpu(points, own, tops, fit_common(others));
  }
  return points;
}

}  // namespace paceline::calibrate
