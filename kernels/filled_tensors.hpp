// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

#include "kernels/backend.hpp"

namespace paceline::kernels {

/// Random values of all inputs of a case in their types, nothing for its other tensors. Large
/// inputs repeat a block of them: which values they are does not change the speed.
using InputBlocks = std::vector<std::vector<unsigned char>>;
InputBlocks blocks_of(const std::vector<TensorSpec>& specs, std::uint64_t seed);

double bytes_of(const std::vector<TensorSpec>& specs);

/// Tensors of a case for runs that are timed: inputs random, everything else not-a-number where the
/// type has one. base::Error where there is not enough memory.
class FilledTensors {
 public:
  FilledTensors(const std::vector<TensorSpec>& specs, const InputBlocks& blocks,
                const Backend& backend);
  std::span<const Tensor> tensors() const { return tensors_; }
  /// base::Error at `label` when an output holds something that is not a finite number; of large
  /// ones the first million elements are looked at.
  void check_outputs(const std::string& label) const;

 private:
  std::vector<TensorSpec> specs_;
  std::vector<Buffer> buffers_;
  std::vector<Tensor> tensors_;
  const Backend& backend_;
};

}  // namespace paceline::kernels
