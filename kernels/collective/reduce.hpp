// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>

#include "base/numeric/float_formats.hpp"
#include "kernels/collective/provider.hpp"

namespace paceline::kernels {

/// Sums or maxima of the two-byte floats, which MPI does not know: to[i] = from[i] + to[i], rounded
/// to nearest even.
template <class Float>
void reduce_into(const Float* from, Float* to, std::size_t count, Reduction how) {
  if (how == Reduction::Sum) {
    for (std::size_t i = 0; i < count; ++i)
      to[i] = Float(static_cast<float>(from[i]) + static_cast<float>(to[i]));
  } else {
    for (std::size_t i = 0; i < count; ++i)
      to[i] = Float(std::max(static_cast<float>(from[i]), static_cast<float>(to[i])));
  }
}

}  // namespace paceline::kernels
