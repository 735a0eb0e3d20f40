// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/adamw/adamw.hpp"

/// A linear layer's weight gradient with AdamW in the epilogue of its product (FORGE): a tile of
/// dy[m,n]^T x[m,k] is applied to the weights [n,k] as soon as it is summed, and never stored. That
/// saves the fp32 gradient, 4 bytes per weight, and writing and reading it; the factors are read
/// once per tile, as in any product. It takes a gradient that is complete: no accumulation over
/// microbatches, no clipping by the global norm, no reduction over ranks before the update; and the
/// layer's input gradient must have been formed, for it reads the weights.
namespace paceline::kernels {

constexpr StepTensors<numeric::AdamW> kForgeTensors{2};

PACELINE_DECLARE_DEVICE(forge_step)

}  // namespace paceline::kernels
