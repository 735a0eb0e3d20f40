// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/units.hpp"
#include "models/cost/collective.hpp"
#include "models/cost/kernel_curve.hpp"
#include "models/hardware/device.hpp"

namespace paceline::models {

/// Fitted constants of one device (models/specs/profile/NAME.json): how far its kernels stay below
/// the data sheet. Justified by microbenchmarks, never by a single training row.
struct GemmLaw {
  double sustained = 0.8;       ///< large-GEMM rate over the peak, over a long run
  base::Seconds wave_overhead;  ///< prologue and epilogue of one wave of tiles
  std::string source;           ///< empty: the precision is not in the file
};

/// Measured speed of one attention kernel: FLOP rates over the sequence, causal convention
/// (half of the square counted when causal).
struct AttentionPoint {
  double sequence = 0;
  base::FlopsPerSecond forward, backward;
};
struct AttentionCurve {
  std::string kernel;  ///< exact id: flash-1, flash-2, flash-3, cudnn-9, paceline
  int head_dim = 128;
  bool causal = true;
  std::optional<Precision> precision{};  ///< nothing: any of 16 bits
  bool speaks_for(Precision p) const { return precision ? *precision == p : p != Precision::Fp32; }
  std::vector<AttentionPoint> points;
  std::string source;
};

/// Host memory to the device or back.
struct CopyLaw {
  base::Seconds latency;
  base::BytesPerSecond rate;
};

/// A collective on ranks of this device, over the link that the scenario's cluster joins them with.
struct MeasuredCollective {
  CollectiveOp op = CollectiveOp::AllReduce;
  int ranks = 2, nodes = 1;
  std::string source;              ///< the file, and the library where it says
  std::vector<CurvePoint> points;  ///< bytes of the full array and seconds, growing
  /// Latency and bandwidth from one size to the next: what the points amount to, for people.
  struct Regime {
    base::Bytes from, to;
    base::Seconds latency;
    base::BytesPerSecond rate;  ///< of the full array
  };
  std::vector<Regime> regimes;
};

/// Power the device draws while kernels of one kind run.
struct PowerDraw {
  std::string work;  ///< "gemm", "attention", "memory"
  base::Watts power;
};

/// A file the constants were fitted to.
struct ProfileInput {
  std::string file;           ///< its name, without folders
  std::string hash;           ///< of its text
  int samples = 0, used = 0;  ///< in it; that took part in a fit
  std::string first, last;    ///< times of its samples; empty where it has none
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
  /// edges of the GEMM library's tiles over those of the law: below 1 on processors
  double gemm_tile = 1;
  double unaligned_gemm = 0.083;  ///< rate when a dimension is no multiple of 8
  base::Seconds launch;           ///< gap between kernels in a full queue
  std::vector<AttentionCurve> attention;
  double residual = 0.05;  ///< relative band of a step-time prediction
  // Only where they were measured:
  std::vector<KernelCurve> kernels;
  std::optional<CopyLaw> to_device, to_host;
  /// time of kernels beside communication over their time alone; comes before the device's
  std::optional<double> overlap_slowdown;
  std::vector<MeasuredCollective> collectives;
  std::vector<PowerDraw> power;
  std::vector<ProfileInput> inputs;
};

inline constexpr const char* kProfileSchema = "paceline-profile-1";

/// Whether a causal curve of this kernel speaks for the precision.
bool has_attention(const Profile& profile, std::string_view kernel, Precision precision);

/// "eager, megatron-fused, flash-2, ...": what `attention:` may name, for messages.
std::string attention_kernels(const Profile& profile);

/// By name from the spec folders, by path (names_file), or from a document.
Profile read_profile(const std::string& name);
Profile read_profile(const base::Document& document);
/// The document that reads back as this profile.
std::string profile_json(const Profile& profile);

}  // namespace paceline::models
