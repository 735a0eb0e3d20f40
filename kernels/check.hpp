// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "kernels/backend.hpp"

namespace paceline::kernels {

/// Values for an input as its `fill` says, before rounding to its type.
std::vector<double> random_values(const TensorSpec& spec, base::Rng& rng);

/// Tensors of a case in a backend's memory, each between guard bytes; inputs random, the rest
/// poisoned.
class Arguments {
 public:
  Arguments(const Operation& operation, const Case& c, const Backend& backend, std::uint64_t seed);
  Call call() const { return {case_, tensors_}; }
  const std::vector<TensorSpec>& specs() const { return specs_; }
  /// All values, from the device.
  Values values() const;
  /// The inputs as they were filled, zeros elsewhere.
  const Values& initial() const { return initial_; }
  /// Empty, or which tensor was written beyond its ends.
  std::string guards() const;

 private:
  Case case_;
  const Backend& backend_;
  std::vector<TensorSpec> specs_;
  std::vector<Buffer> buffers_;
  std::vector<Tensor> tensors_;
  Values initial_;
};

struct CheckResult {
  bool passed = true;
  double worst = 0;     ///< largest error over the allowed one
  std::string problem;  ///< empty, or the first: tensor, element, got, wanted
};

/// Runs the case on fresh random inputs of `seed` with poisoned outputs and compares every element
/// with the double-precision reference; also that nothing beyond a tensor's ends was written and
/// no input changed.
CheckResult check(const Operation& operation, const Case& c, const Backend& backend,
                  std::uint64_t seed);

}  // namespace paceline::kernels
