// SPDX-License-Identifier: Apache-2.0
#include "models/cost/kernel_curve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/table.hpp"

namespace paceline::models {
namespace {

using enum KernelLaw;

constexpr std::array kKinds{
    KernelKind{"gemm", Gemm, "m n k"},
    KernelKind{"batched-gemm", Gemm, "batch m n k"},
    KernelKind{"grouped-gemm", Curve, "m n k"},
    KernelKind{"forge", Curve, "m n k"},
    KernelKind{"attention", Attention, "batch heads queries keys head_dim"},
    KernelKind{"attention-cudnn", Attention, "batch heads queries keys head_dim"},
    KernelKind{"rmsnorm", Curve, "rows columns"},
    KernelKind{"layernorm", Curve, "rows columns"},
    KernelKind{"swiglu", Curve, "rows columns"},
    KernelKind{"gelu", Curve, "rows columns"},
    KernelKind{"bias", Curve, "rows columns"},
    KernelKind{"softmax", Curve, "rows columns"},
    KernelKind{"rope", Curve, "rows heads head_dim"},
    KernelKind{"cross-entropy", Curve, "rows vocab", "chunk"},
    KernelKind{"cross-entropy-chunk", Curve, "rows chunk", "vocab"},
    KernelKind{"embedding", Curve, "rows columns", "vocab"},
    KernelKind{"adamw", Curve, "parameters"},
    KernelKind{"sgd", Curve, "parameters"},
    KernelKind{"ember", Curve, "rows columns"},
    KernelKind{"muon", Curve, "rows columns least"},
    KernelKind{"quantise-fp8-e4m3", Curve, "count"},
    KernelKind{"quantise-fp8-e5m2", Curve, "count"},
    KernelKind{"quantise-int8", Curve, "count"},
    KernelKind{"quantise-nvfp4", Curve, "count"},
    KernelKind{"pack-sign", Curve, "count"},
    KernelKind{"pack-ternary", Curve, "count"},
    KernelKind{"select-top-k", Curve, "count", "k"},
    KernelKind{"select-threshold", Curve, "count"},
    KernelKind{"pack-bitvector", Curve, "count", "nonzeros"},
    KernelKind{"pack-coo", Curve, "count", "nonzeros"},
    KernelKind{"low-rank", Curve, "rows columns rank"},
    KernelKind{"orthogonalise", Curve, "rows rank rank"},
    KernelKind{"whiten", Curve, "rows columns rank"},
    KernelKind{"whiten-statistics", Curve, "tokens columns columns"},
    KernelKind{"whiten-eigenvalues", Curve, "columns columns rank"},
    KernelKind{"vector-quantise", Curve, "rows dim"},
    KernelKind{"triad", Curve, "count"},
    KernelKind{"add", Curve, "count"},
    KernelKind{"copy-d2d", Curve, "bytes"},
    KernelKind{"copy-h2d", Copy, "bytes"},
    KernelKind{"copy-d2h", Copy, "bytes"},
    KernelKind{"launch", Launch, ""},
    KernelKind{"all_reduce", Collective, "bytes"},
    KernelKind{"all_gather", Collective, "bytes"},
    KernelKind{"reduce_scatter", Collective, "bytes"},
    KernelKind{"all_to_all", Collective, "bytes"},
    KernelKind{"broadcast", Collective, "bytes"},
    KernelKind{"send_recv", Collective, "bytes"},
    KernelKind{"reduce", Collective, "bytes"},
};

bool names(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(' '));
    if (word == name) return true;
    list.remove_prefix(std::min(word.size() + 1, list.size()));
  }
  return false;
}

std::optional<double> value_of(const base::Extents& extents, std::string_view name) {
  for (const auto& [key, value] : extents)
    if (key == name) return static_cast<double>(value);
  return std::nullopt;
}

/// How far two sets of fixed extents are apart: 0 when equal.
double distance(const base::Extents& a, const base::Extents& b) {
  double sum = 0;
  for (const auto& [name, value] : a) {
    const std::optional<double> other = value_of(b, name);
    if (!other) return std::numeric_limits<double>::infinity();
    sum += std::abs(std::log((static_cast<double>(value) + 1) / (*other + 1)));
  }
  return sum;
}

}  // namespace

std::span<const KernelKind> kernel_kinds() { return kKinds; }

const KernelKind& kernel_kind(std::string_view name, const std::string& where) {
  return base::find(kKinds, name, where, "kernel");
}

std::optional<double> kernel_size(const KernelKind& kind, const base::Extents& extents) {
  double product = 1;
  for (std::string_view left = kind.size; !left.empty();) {
    const std::string_view name = left.substr(0, left.find(' '));
    left.remove_prefix(std::min(name.size() + 1, left.size()));
    std::optional<double> value = value_of(extents, name);
    if (name == "least") value = std::min(value_of(extents, "rows"), value_of(extents, "columns"));
    if (!value) return std::nullopt;
    product *= *value;
  }
  return product;
}

base::Extents fixed_extents(const KernelKind& kind, const base::Extents& extents) {
  base::Extents fixed;
  for (const auto& [name, value] : extents)
    if (!names(kind.size, name) && !names(kind.ignored, name)) fixed.emplace_back(name, value);
  std::sort(fixed.begin(), fixed.end());
  return fixed;
}

const KernelCurve* find_curve(std::span<const KernelCurve> curves, std::string_view kernel,
                              std::string_view pass, std::string_view type,
                              const base::Extents& extents) {
  const KernelCurve* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const KernelCurve& curve : curves) {
    if (curve.kernel != kernel || curve.pass != pass || curve.type != type) continue;
    const double apart = distance(curve.fixed, extents);
    if (apart >= least) continue;
    least = apart;
    best = &curve;
  }
  return best;
}

base::Seconds curve_time(const KernelCurve& curve, double size, base::Seconds launch) {
  const double low = curve.curve.low(), high = curve.curve.high();
  if (size < low) {
    const double end = curve.curve.at(low), floor = std::min(launch.value, end);
    return base::Seconds(floor + (end - floor) * size / low);
  }
  if (size > high) return base::Seconds(curve.curve.at(high) * size / high);
  return base::Seconds(curve.curve.at(size));
}

}  // namespace paceline::models
