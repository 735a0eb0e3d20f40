// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>

#include "base/units.hpp"
#include "models/hardware/device.hpp"
#include "models/hardware/profile.hpp"
#include "models/scenario/stack.hpp"
#include "models/workload/layer_ops.hpp"

namespace paceline::models {

/// Rates of one device under one stack, ready for the kernel formulas.
struct KernelModel {
  struct Matrix {
    double rate = 0;        ///< FLOP/s of one multiprocessor on a full tile; 0 = not supported
    double prologue_k = 0;  ///< extra k of a wave: fill, drain and store, as time at that rate
  };
  std::array<Matrix, 4> matrix{};  ///< by Precision
  double multiprocessors = 1;
  double memory = 1;  ///< B/s, GEMM operands
  double stream = 1;  ///< B/s, elementwise kernels
  double overlap_loss = 0;
  double batched = 1, unaligned = 1;
  double tile = 1;                            ///< edges of tiles over those of the law
  double launch = 0;                          ///< s
  double elementwise = 1;                     ///< the stack's byte factor
  const AttentionCurve* attention = nullptr;  ///< of the scenario's kernel; null: scores are stored
  double attention_factor = 1;
  /// Of the profile, where the stack runs the kernels they were measured on.
  std::span<const KernelCurve> curves{};
};

/// Error when the attention kernel has no curve of the precision in the profile: ids are exact,
/// never a fallback. Points into the profile.
KernelModel kernel_model(const Device& device, const Profile& profile, const Stack& stack,
                         std::string_view attention, const Model& model,
                         Precision precision = Precision::Bf16);

/// C[m,n] += A[m,k] B[k,n], `count` of them in one launch.
///
/// time = max(T_c, T_m) + loss*min(T_c, T_m) + launch, where T_m is operand bytes over the memory
/// bandwidth and T_c the best over tile shapes of W * 2 t_m t_n (k + k0) / (rate * e_tile). W is
/// the number of waves of tiles over the multiprocessors: whole waves, or 1.05 times the exact
/// number where partial waves are split along k (stream-K). k0 stands for the fixed time of a wave.
base::Seconds gemm_time(const KernelModel& model, Precision precision, double m, double n, double k,
                        double count = 1, bool accumulates = false);

/// The same where the caller knows whether the contiguous dimensions are multiples of 8, so that
/// the tensor cores can be used.
base::Seconds gemm_time(const KernelModel& model, Precision precision, double m, double n, double k,
                        double count, bool accumulates, bool tensor_cores);

/// `count` products with a weight each, as one launch: tiles of all of them fill the waves. Few
/// rows leave tiles part empty, and each weight is read once: that is how few tokens per expert
/// cost.
base::Seconds grouped_gemm_time(const KernelModel& model, Precision precision, double m, double n,
                                double k, double count, bool accumulates, bool tensor_cores);

/// FLOPs over the kernel's published rate at this sequence length (log-linear between points,
/// proportional to s/(s + 350) below the first, flat above the last).
base::Seconds attention_time(const KernelModel& model, double flops, double sequence,
                             bool backward);

/// The optimizer step over so many parameters: by the measured curve of `optimizer` with such
/// masters, else `bytes` of memory traffic each.
base::Seconds optimizer_time(const KernelModel& model, std::string_view optimizer, Precision master,
                             double parameters, double bytes);

/// Any op but a collective. Elementwise ops take the measured curves of the kernels that do them
/// where there are such, else the time of their memory traffic.
base::Seconds kernel_time(const KernelModel& model, const Op& op);

/// Bytes an op moves between the device's memory and its cores: operands and results once each. Of
/// attention its queries, keys, values and outputs, backward with their gradients, no scores
/// (Dao et al. 2022, FlashAttention, section 3.2, in the limit of large tiles); 0 for a collective.
double kernel_bytes(const KernelModel& model, const Op& op);

}  // namespace paceline::models
