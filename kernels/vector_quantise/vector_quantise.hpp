// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/bit_packing.hpp"
#include "kernels/operation.hpp"

/// Rows of `dim` elements as the number of the nearest of `codewords` vectors (vector quantisation;
/// Gray, Vector quantization, IEEE ASSP Magazine 1, 1984): the smallest |c|^2 / 2 - x c, summed in
/// fp32 in order of the elements; of equal ones the first. Numbers are packed to as many bits as
/// they need.
namespace paceline::kernels {

PACELINE_DECLARE_DEVICE(vector_quantise_encode)
PACELINE_DECLARE_DEVICE(vector_quantise_decode)

}  // namespace paceline::kernels
