// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/sparse_codes.hpp"
#include "kernels/codec/scan_words.hpp"
#include "kernels/operation.hpp"

/// Arrays that are mostly zeros as bitvector and values, or as coordinates and values
/// (base/numeric/sparse_codes.hpp), and back. `nonzeros`: places for values; `found` counts all
/// nonzeros, values behind the last place are left out. Decoding reads no value that is not there
/// and writes no element that is not there, whatever the bits, prefixes and indices say: such
/// elements are zero. Fewer than 2^31 elements.
namespace paceline::kernels {

PACELINE_DECLARE_DEVICE(pack_bitvector_encode)
PACELINE_DECLARE_DEVICE(pack_bitvector_decode)
PACELINE_DECLARE_DEVICE(pack_coo_encode)
PACELINE_DECLARE_DEVICE(pack_coo_decode)

}  // namespace paceline::kernels
