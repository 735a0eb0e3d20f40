// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/inputs.hpp"
#include "calibrate/report.hpp"
#include "models/cost/kernel.hpp"
#include "models/hardware/profile.hpp"

/// One fit per kind of curve. Each takes the samples it needs from the inputs and gives constants
/// with a report; empty where nothing was measured.
namespace paceline::calibrate {

/// What a streaming kernel reaches: time over the bytes that triad and device-to-device copies
/// move, on their largest sizes.
struct RoofFit {
  std::optional<double> rate;  ///< B/s
  std::vector<CurveReport> reports;
};
RoofFit fit_roof(const std::vector<Measured>& samples);

/// The gap between kernels in a full queue, seconds.
struct LaunchFit {
  std::optional<double> seconds;
  std::vector<CurveReport> reports;
};
LaunchFit fit_launch(const std::vector<Measured>& samples);

/// Constants of the GEMM law (models/cost/kernel.hpp) in absolute units.
struct GemmFit {
  struct Law {
    double rate = 0;  ///< FLOP/s of all multiprocessors on full tiles; 0: not measured
    double wave = 0;  ///< s
    double best = 0;  ///< largest measured FLOP/s
  };
  std::array<Law, 4> law{};  ///< by Precision
  double loss = 0.3;
  double tile = 1;
  std::optional<double> batched, unaligned;
  std::vector<CurveReport> reports;
};
struct GemmSettings {
  int units = 1;             ///< multiprocessors
  double memory = 1;         ///< B/s
  double launch = 0;         ///< s
  bool tensor_cores = true;  ///< what is unaligned runs without them; tiles are the law's own
};
/// Rate and wave of every precision and the loss, from aligned products; tiles below the law's
/// where they predict left-out samples better (processors); then batched and unaligned products.
GemmFit fit_gemm(const std::vector<Measured>& samples, const GemmSettings& settings);
/// The law with these constants.
models::KernelModel gemm_model(const GemmFit& fit, const GemmSettings& settings);

struct AttentionFit {
  std::vector<models::AttentionCurve> curves;
  std::vector<CurveReport> reports;
  std::vector<std::string> notes;
};
AttentionFit fit_attention(const std::vector<Measured>& samples, double launch);

struct KernelFit {
  std::vector<models::KernelCurve> curves;
  std::vector<CurveReport> reports;
};
/// Monotone curves of elementwise kernels, codecs and optimizers.
KernelFit fit_kernels(const std::vector<Measured>& samples);

struct CopyFit {
  std::optional<models::CopyLaw> to_device, to_host;
  std::vector<CurveReport> reports;
};
CopyFit fit_copies(const std::vector<Measured>& samples);

struct CollectiveFit {
  std::vector<models::MeasuredCollective> curves;
  std::vector<CurveReport> reports;
};
/// Of samples and of logs; the same group twice: the points of both.
CollectiveFit fit_collectives(const std::vector<Measured>& samples,
                              const std::vector<models::NcclLog>& logs);

/// Median of the times beside a communication over those of the same call alone, at least 1;
/// nothing where no call was measured both ways.
struct OverlapFit {
  std::optional<double> slowdown;
  std::vector<CurveReport> reports;
};
OverlapFit fit_overlap(const std::vector<Measured>& samples);

/// Median power of the samples of one kind, where it was read.
std::vector<models::PowerDraw> fit_power(const std::vector<Measured>& samples);

/// Useful work of attention: half of the square when causal, backward 2.5 times forward.
double attention_flops(const base::Sample& sample);

}  // namespace paceline::calibrate
