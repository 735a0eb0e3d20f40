// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/sparse_codes.hpp"

namespace paceline::kernels {

/// 32-bit words that kernels/codec/compact.hpp needs for a scan of `count` elements.
constexpr std::int64_t scan_words(std::int64_t count) {
  return 2 * (numeric::bitvector_tiles(count) + 1);
}

}  // namespace paceline::kernels
