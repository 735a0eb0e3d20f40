// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/numeric/sparse_codes.hpp"
#include "kernels/codec/scan_words.hpp"
#include "kernels/operation.hpp"

/// The elements of gradient + residual that are sent, in order of index, and the new residual
/// (base/numeric/sparse_codes.hpp). Top-k: exactly `kept`, the largest magnitudes. Threshold: those
/// of at least the threshold's magnitude, as long as the index is not behind the `capacity`-th;
/// `found` counts all of them, what did not fit stays in the residual. Indices are 32-bit; fewer
/// than 2^31 elements.
namespace paceline::kernels {

PACELINE_DECLARE_DEVICE(select_top_k)
PACELINE_DECLARE_DEVICE(select_threshold)

/// Histograms of the digits of top-k.
constexpr std::int64_t kSelectBins = 2048 + 1024 + 1024;
/// 32-bit words that top-k needs on a device. After the histograms: the key found so far, and how
/// many of that key are taken.
constexpr std::int64_t top_k_words(std::int64_t count) {
  return scan_words(count) + kSelectBins + 2;
}

}  // namespace paceline::kernels
