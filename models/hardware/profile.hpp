// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/units.hpp"
#include "models/hardware/device.hpp"

namespace paceline::models {

/// Fitted constants of one device (models/specs/profile/NAME.json): how far its kernels stay below
/// the data sheet. Justified by microbenchmarks, never by a single training row.
struct GemmLaw {
  double sustained = 0.8;       ///< large-GEMM rate over the peak, over a long run
  base::Seconds wave_overhead;  ///< prologue and epilogue of one wave of tiles
};

/// Measured speed of one attention kernel: FLOP rates over the sequence, causal convention
/// (half of the square counted when causal).
struct AttentionPoint {
  double sequence = 0;
  base::FlopsPerSecond forward, backward;
};
struct AttentionCurve {
  std::string kernel;  ///< exact id: flash-1, flash-2, flash-3, cudnn-9
  int head_dim = 128;
  bool causal = true;
  std::vector<AttentionPoint> points;
};

struct Profile {
  std::string name;
  std::string device;
  std::string source;
  std::array<GemmLaw, 4> gemm{};  ///< by Precision
  /// share of the smaller of compute and memory time that is not hidden
  double overlap_loss = 0.3;
  double memory_efficiency = 0.86;  ///< of the data-sheet bandwidth, streaming kernels
  double batched_gemm = 0.77;       ///< rate of strided batched GEMMs over plain ones
  double unaligned_gemm = 0.083;    ///< rate when a dimension is no multiple of 8
  base::Seconds launch;             ///< gap between kernels in a full queue
  std::vector<AttentionCurve> attention;
  double residual = 0.05;  ///< relative band of a step-time prediction
};

inline constexpr const char* kProfileSchema = "paceline-profile-1";

/// "eager, megatron-fused, flash-2, ...": what `attention:` may name, for messages.
std::string attention_kernels(const Profile& profile);

/// By name from the spec folders, or from a document (a calibrated profile of the user's own).
Profile read_profile(const std::string& name);
Profile read_profile(const base::Document& document);

}  // namespace paceline::models
