// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <tuple>

#include "calibrate/curve_fit.hpp"
#include "calibrate/fits.hpp"
#include "calibrate/robust.hpp"

namespace paceline::calibrate {

KernelFit fit_kernels(const std::vector<Measured>& samples) {
  using Key = std::tuple<std::string, std::string, std::string, base::Extents>;
  std::map<Key, std::vector<CurveSample>> groups;
  for (const Measured& m : samples) {
    const base::Sample& s = m.sample;
    const models::KernelKind& kind = models::kernel_kind(s.kernel);
    if (kind.law != models::KernelLaw::Curve || !s.beside.empty()) continue;
    groups[{s.kernel, s.pass, s.type, fixed_extents(kind, s.extents)}].push_back(
        {{*models::kernel_size(kind, s.extents), s.median.value}, sample_label(s)});
  }
  KernelFit fit;
  for (auto& [key, points] : groups) {
    const auto& [kernel, pass, type, fixed] = key;
    std::string name = kernel + " " + pass + " " + type;
    for (const auto& [extent_name, value] : fixed)
      name += " " + extent_name + "=" + std::to_string(value);
    CurveFit curve = fit_curve(name, kCurveBound, std::move(points));
    fit.curves.push_back({kernel, pass, type, fixed, std::move(curve.points), curve.curve});
    fit.reports.push_back(std::move(curve.report));
  }
  return fit;
}

}  // namespace paceline::calibrate
