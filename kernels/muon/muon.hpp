// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>

#include "base/numeric/optimizers.hpp"
#include "kernels/gemm/product.hpp"

/// Muon on a matrix of rows x columns (base/numeric/optimizers.hpp): momentum in fp32,
/// Newton-Schulz products in the case's type with fp32 sums.
namespace paceline::kernels {

/// Tensors of a step. `update` is X after the last Newton-Schulz step: orthogonal up to the
/// accuracy of the five steps, singular values about 0.7 to 1.2.
enum MuonTensor : std::size_t {
  kMuonGradient,
  kMuonWeight,
  kMuonMomentum,
  kMuonSettings,
  kMuonUpdate,
  kMuonOther,     ///< X of the steps between
  kMuonGram,      ///< A, of the shorter side
  kMuonPoly,      ///< b A + c A^2
  kMuonPartials,  ///< sums of squares by block
  kMuonCopy       ///< not in fp32
};
constexpr int kMuonPartialCount = 1024;

/// X from the tensor it starts in to `update` by kNewtonSchulzSteps steps (an odd number: they go
/// from one tensor to the other). Products are of the shorter side: X (X^T X) where the matrix is
/// tall, so that nothing is transposed in memory.
void newton_schulz(const Call& call, Multiply multiply, Stream stream);

PACELINE_DECLARE_DEVICE(muon_step)

}  // namespace paceline::kernels
