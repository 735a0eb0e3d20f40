// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/scaled_codes.hpp"
#include "kernels/operation.hpp"

/// NVFP4 (base/numeric/scaled_codes.hpp): two codes in a byte, an E4M3 scale per 16 elements and an
/// fp32 scale for the tensor. The last byte of an odd count has 0 in its high bits.
namespace paceline::kernels {

PACELINE_DECLARE_DEVICE(quantise_nvfp4_encode)
PACELINE_DECLARE_DEVICE(quantise_nvfp4_decode)

}  // namespace paceline::kernels
