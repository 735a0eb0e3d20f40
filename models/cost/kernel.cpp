// SPDX-License-Identifier: Apache-2.0
#include "models/cost/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/message.hpp"
#include "models/workload/kernel_calls.hpp"

namespace paceline::models {
namespace {

/// Tile shapes of a GEMM library and how close each comes to the rate of the largest (operand
/// reuse).
struct Tile {
  double m, n, efficiency;
};
constexpr std::array<Tile, 7> kTiles{{{128, 256, 1.0},
                                      {256, 128, 1.0},
                                      {128, 192, 0.97},
                                      {128, 128, 0.88},
                                      {64, 256, 0.85},
                                      {128, 64, 0.72},
                                      {64, 64, 0.58}}};
constexpr double kReferenceTile = 128.0 * 256.0;  // before KernelModel::tile
constexpr double kStreamK = 1.05;                 ///< cost of splitting partial waves along k
constexpr double kAttentionHalf = 350;  ///< sequence at which a flash kernel reaches half its rate

bool aligned(double dimension) { return std::fmod(dimension, 8.0) == 0; }

double tile_time(const KernelModel::Matrix& matrix, double units, double scale, double m, double n,
                 double k, double count) {
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const double rows = tile.m * scale, columns = tile.n * scale;
    const double tiles = std::ceil(m / rows) * std::ceil(n / columns) * count;
    const double exact = tiles / units;
    const double waves = std::min(std::ceil(exact), kStreamK * std::max(exact, 1.0));
    const double wave =
        2 * rows * columns * (k + matrix.prologue_k) / (matrix.rate * tile.efficiency);
    best = std::min(best, waves * wave);
  }
  return best;
}

const AttentionCurve* attention_curve(const Profile& profile, std::string_view kernel, int head_dim,
                                      Precision precision) {
  const AttentionCurve* best = nullptr;
  for (const AttentionCurve& curve : profile.attention) {
    if (curve.kernel != kernel || !curve.causal || !curve.speaks_for(precision)) continue;
    if (best == nullptr ||
        std::abs(curve.head_dim - head_dim) < std::abs(best->head_dim - head_dim)) {
      best = &curve;
    }
  }
  return best;
}

/// No attention kernel is faster than large products on the same device: of a curve that is
/// borrowed from a larger one, the share that is left.
double borrowed_share(const KernelModel& k, Precision precision, double clock) {
  double fastest = 0;
  for (const AttentionPoint& point : k.attention->points)
    fastest = std::max({fastest, point.forward.value, point.backward.value});
  const double products =
      k.matrix[static_cast<std::size_t>(precision)].rate * k.multiprocessors / clock;
  return products > 0 ? std::min(1.0, products / fastest) : 1;
}

}  // namespace

KernelModel kernel_model(const Device& device, const Profile& profile, const Stack& stack,
                         std::string_view attention, const Model& model, Precision precision) {
  KernelModel k;
  k.multiprocessors = device.multiprocessors;
  k.tile = profile.gemm_tile;
  for (std::size_t p = 0; p < k.matrix.size(); ++p) {
    const double rate =
        device.matrix_rate[p].value * device.clock * profile.gemm[p].sustained * stack.sustained;
    k.matrix[p].rate = rate / k.multiprocessors;
    k.matrix[p].prologue_k = profile.gemm[p].wave_overhead.value * k.matrix[p].rate /
                             (2 * kReferenceTile * k.tile * k.tile);
  }
  k.memory = device.memory_bandwidth.value * profile.memory_efficiency;
  k.stream = k.memory;
  k.overlap_loss = profile.overlap_loss;
  k.batched = profile.batched_gemm;
  k.unaligned = profile.unaligned_gemm;
  k.launch = profile.launch.value;
  k.elementwise = stack.elementwise;
  k.attention_factor = stack.attention_factor;
  // Curves of single kernels hold for the clock they were measured at.
  if (stack.measured_kernels && device.clock >= 1) k.curves = profile.kernels;
  if (stores_scores(attention)) return k;
  const int head_dim =
      model.kinds.empty() ? 128 : static_cast<int>(model.kinds[0].attention.head_dim);
  // FP8 runs keep their attention in 16 bits.
  const Precision own = precision == Precision::Fp8 ? Precision::Bf16 : precision;
  k.attention = attention_curve(profile, attention, head_dim, own);
  if (k.attention == nullptr) {
    throw base::Error("attention",
                      "profile " + profile.name + " has no kernel " + base::quote(attention) +
                          " in " + std::string(to_text(own)),
                      "one of " + attention_kernels(profile));
  }
  if (profile.device != device.name) k.attention_factor *= borrowed_share(k, own, device.clock);
  k.attention_factor *= device.clock;
  return k;
}

base::Seconds gemm_time(const KernelModel& model, Precision precision, double m, double n, double k,
                        double count, bool accumulates) {
  return gemm_time(model, precision, m, n, k, count, accumulates,
                   aligned(m) && aligned(n) && aligned(k));
}

namespace {

/// Operands and result of `count` products.
double product_bytes(Precision precision, double m, double n, double k, double count,
                     bool accumulates) {
  const double element = element_bytes(precision);
  const double output = accumulates ? 8 : std::max(element, 2.0);
  return count * (element * (m * k + k * n) + output * m * n);
}

/// `rate` over that of the tile law.
base::Seconds product_time(const KernelModel& model, Precision precision, double m, double n,
                           double k, double count, bool accumulates, double rate) {
  const auto& matrix = model.matrix[static_cast<std::size_t>(precision)];
  const double compute =
      tile_time(matrix, model.multiprocessors, model.tile, m, n, k, count) / rate;
  const double memory = product_bytes(precision, m, n, k, count, accumulates) / model.memory;
  return base::Seconds(std::max(compute, memory) + model.overlap_loss * std::min(compute, memory) +
                       model.launch);
}

}  // namespace

base::Seconds gemm_time(const KernelModel& model, Precision precision, double m, double n, double k,
                        double count, bool accumulates, bool tensor_cores) {
  const double batched = count > 1 ? model.batched : 1;
  return product_time(model, precision, m, n, k, count, accumulates,
                      tensor_cores ? batched : batched * model.unaligned);
}

base::Seconds grouped_gemm_time(const KernelModel& model, Precision precision, double m, double n,
                                double k, double count, bool accumulates, bool tensor_cores) {
  return product_time(model, precision, m, n, k, count, accumulates,
                      tensor_cores ? 1 : model.unaligned);
}

base::Seconds attention_time(const KernelModel& model, double flops, double sequence,
                             bool backward) {
  const auto& points = model.attention->points;
  const auto rate_of = [&](const AttentionPoint& p) {
    return backward ? p.backward.value : p.forward.value;
  };
  double rate = 0;
  if (sequence <= points.front().sequence) {
    const double s0 = points.front().sequence;
    rate = rate_of(points.front()) * (sequence / (sequence + kAttentionHalf)) /
           (s0 / (s0 + kAttentionHalf));
  } else if (sequence >= points.back().sequence) {
    rate = rate_of(points.back());
  } else {
    const auto next =
        std::upper_bound(points.begin(), points.end(), sequence,
                         [](double s, const AttentionPoint& p) { return s < p.sequence; });
    const AttentionPoint& a = *(next - 1);
    const double f = std::log(sequence / a.sequence) / std::log(next->sequence / a.sequence);
    rate = rate_of(a) + f * (rate_of(*next) - rate_of(a));
  }
  return base::Seconds(flops / (rate * model.attention_factor) + model.launch);
}

namespace {

/// Nothing where a call has no curve.
std::optional<base::Seconds> measured_time(const KernelModel& model, const Op& op) {
  if (model.curves.empty()) return std::nullopt;
  const std::vector<KernelCall> calls = own_kernel_calls(op);
  base::Seconds sum;
  for (const KernelCall& c : calls) {
    const KernelCurve* curve = find_curve(model.curves, c.kernel, c.pass, c.type, c.extents);
    if (curve == nullptr) return std::nullopt;
    const std::optional<double> size = kernel_size(kernel_kind(c.kernel), c.extents);
    if (!size) return std::nullopt;
    sum += curve_time(*curve, *size, base::Seconds(model.launch));
  }
  if (calls.empty()) return std::nullopt;
  return sum;
}

}  // namespace

base::Seconds optimizer_time(const KernelModel& model, std::string_view optimizer, Precision master,
                             double parameters, double bytes) {
  const KernelCurve* curve =
      find_curve(model.curves, optimizer == "sgd" ? "sgd" : "adamw", "step", to_text(master), {});
  if (curve == nullptr) return base::Seconds(parameters * bytes / model.stream);
  return curve_time(*curve, parameters, base::Seconds(model.launch));
}

base::Seconds kernel_time(const KernelModel& model, const Op& op) {
  switch (op.kind) {
    case OpKind::Gemm:
      // Only the contiguous dimensions matter, those of the weight; the tokens are strided over.
      return gemm_time(model, op.precision, op.m, op.n, op.k, 1, op.accumulates,
                       aligned(op.n) && aligned(op.phase == Phase::Weight ? op.m : op.k));
    case OpKind::BatchedGemm:
      return gemm_time(model, op.precision, op.m, op.n, op.k, op.count);
    case OpKind::GroupedGemm:
      return grouped_gemm_time(model, op.precision, op.m, op.n, op.k, op.count, op.accumulates,
                               aligned(op.n) && aligned(op.phase == Phase::Weight ? op.m : op.k));
    case OpKind::Attention:
      return attention_time(model, op.flops, op.sequence, op.phase != Phase::Forward);
    case OpKind::Stream:
      if (const auto measured = measured_time(model, op)) return *measured;
      return base::Seconds(op.bytes * (op.exact ? 1 : model.elementwise) / model.stream +
                           model.launch);
    case OpKind::Collective:
      break;
  }
  return base::Seconds(0);
}

double kernel_bytes(const KernelModel& model, const Op& op) {
  switch (op.kind) {
    case OpKind::Gemm:
    case OpKind::BatchedGemm:
    case OpKind::GroupedGemm:
      return product_bytes(op.precision, op.m, op.n, op.k, op.count, op.accumulates);
    case OpKind::Attention: {
      const double tensors =
          op.count * op.head_dim * 2 * (op.m * op.heads + op.n * op.kv_heads);  // q, o and k, v
      return element_bytes(op.precision) * tensors * (op.phase == Phase::Forward ? 1 : 2);
    }
    case OpKind::Stream:
      return op.bytes * (op.exact ? 1 : model.elementwise);
    case OpKind::Collective:
      break;
  }
  return 0;
}

}  // namespace paceline::models
