// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sample.hpp"
#include "base/units.hpp"
#include "models/cost/curve.hpp"

/// Kernels whose time follows from how much they work on: measured curves instead of formulas.
namespace paceline::models {

/// What decides the time of a kernel, and hence what calibrate makes of its samples.
enum class KernelLaw {
  Gemm,       ///< the GEMM law (kernel.hpp)
  Attention,  ///< FLOP rate over the sequence
  Curve,      ///< seconds over the size
  Copy,       ///< between host and device: latency and bandwidth
  Launch,     ///< the gap between kernels
  Collective  ///< seconds over the bytes of the full array, by ranks
};

/// One kernel of kernels/list.def, or a collective.
struct KernelKind {
  std::string_view name;
  KernelLaw law;
  /// Extents whose product is the size, separated by spaces; "least" stands for the smaller one of
  /// rows and columns.
  std::string_view size;
  /// Extents that do not matter for the time; all others must be equal on a curve.
  std::string_view ignored = "";
};
std::span<const KernelKind> kernel_kinds();
/// base::Error (`where` first) with the nearest names for a kernel there is none of.
const KernelKind& kernel_kind(std::string_view name, const std::string& where = "");

/// The product of the sizes of a kernel; nothing where an extent is missing.
std::optional<double> kernel_size(const KernelKind& kind, const base::Extents& extents);
/// The extents that are neither size nor ignored: equal for all samples of a curve.
base::Extents fixed_extents(const KernelKind& kind, const base::Extents& extents);

struct KernelCurve {
  std::string kernel, pass, type;
  base::Extents fixed;             ///< {block 16}
  std::vector<CurvePoint> points;  ///< size and seconds, growing
  MonotoneCurve curve;             ///< through the points
};

/// The curve of a call: same kernel, pass and type, and the same other extents where one has them,
/// else the nearest. Null where there is none.
const KernelCurve* find_curve(std::span<const KernelCurve> curves, std::string_view kernel,
                              std::string_view pass, std::string_view type,
                              const base::Extents& extents);

/// Below the points: from the end point down to `launch` with the size; above: on with the rate of
/// the last.
base::Seconds curve_time(const KernelCurve& curve, double size, base::Seconds launch);

}  // namespace paceline::models
