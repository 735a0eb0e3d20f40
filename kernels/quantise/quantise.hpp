// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/scaled_codes.hpp"
#include "kernels/operation.hpp"

/// One byte per element and an fp32 scale per `block` elements (base/numeric/scaled_codes.hpp): FP8
/// E4M3, FP8 E5M2, INT8. With `block` = 0 one scale for the whole tensor, which is read twice.
namespace paceline::kernels {

PACELINE_DECLARE_DEVICE(quantise_e4m3_encode)
PACELINE_DECLARE_DEVICE(quantise_e4m3_decode)
PACELINE_DECLARE_DEVICE(quantise_e5m2_encode)
PACELINE_DECLARE_DEVICE(quantise_e5m2_decode)
PACELINE_DECLARE_DEVICE(quantise_int8_encode)
PACELINE_DECLARE_DEVICE(quantise_int8_decode)

}  // namespace paceline::kernels
