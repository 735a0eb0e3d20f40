// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sample.hpp"
#include "models/workload/layer_ops.hpp"

namespace paceline::models {

/// One call of an operation of kernels/, as data: the names and extents that bench measures and
/// profiles tabulate.
struct KernelCall {
  std::string kernel, pass, type;  ///< "gemm", "input-gradient", "bf16"
  base::Extents extents;           ///< each at least 1
  bool operator==(const KernelCall&) const = default;
};

/// What does the op: none for a collective, two where the gradients of a norm or a table are ones
/// of their own. An elementwise op without a kernel of its own is a copy of as many bytes.
/// Extents are rounded to whole numbers.
std::vector<KernelCall> kernel_calls(const Op& op);

/// The same without that substitute: empty where no kernel does it.
std::vector<KernelCall> own_kernel_calls(const Op& op);

/// The op that a matrix product does, the other way round: what the GEMM law needs of "gemm" and
/// "batched-gemm". Nothing for other kernels and passes.
std::optional<Op> matrix_op(std::string_view kernel, std::string_view pass, Precision precision,
                            const base::Extents& extents);
/// Of a type's name: "fp8-e4m3" and "fp8-e5m2" are Fp8. Nothing for types of no matrix product.
std::optional<Precision> precision_named(std::string_view type);

/// Every different call of a step on whole microbatches (no slices): layers of all kinds forward
/// and backward, the ends, and the optimizer of every pipeline rank. base::Error for a model
/// without times.
std::vector<KernelCall> scenario_kernel_calls(const Scenario& scenario);

}  // namespace paceline::models
