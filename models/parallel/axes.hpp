// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

#include "models/hardware/placement.hpp"

namespace paceline::models {

/// The first member of the group over `axes` that `device` belongs to.
inline int first_member(int device, std::span<const Axis> axes) {
  std::int64_t first = device;
  for (const Axis& a : axes) first -= device / a.stride % a.count * a.stride;
  return static_cast<int>(first);
}

}  // namespace paceline::models
