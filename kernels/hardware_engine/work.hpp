// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/filled_tensors.hpp"
#include "models/workload/layer_ops.hpp"

namespace paceline::hardware {

/// An operation on tensors of its own in a backend's memory.
struct Prepared {
  const kernels::Operation* operation = nullptr;
  kernels::Case c;
  std::unique_ptr<kernels::FilledTensors> tensors;
};

/// The kernels of one segment, ready to run.
struct Work {
  std::vector<Prepared> calls;
  double seconds = 0;  ///< without calls: how long to be busy
};

/// Bytes that prepare() takes.
double bytes_of(const models::Op& op, const kernels::Backend& backend);

/// What the op is on this backend. `note` receives one line where other kernels stand for it.
/// base::Error where the backend lacks the kernel.
Work prepare(const models::Op& op, const kernels::Backend& backend, std::uint64_t seed,
             std::string& note);

/// Enqueues all calls.
void enqueue(const Work& work, const kernels::Backend& backend, kernels::Stream stream);

/// base::Error naming the kernel when an output holds something that is not a finite number.
void check_finite(const Work& work, const std::string& name);

}  // namespace paceline::hardware
