// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/collective/communicator.hpp"

namespace paceline::tests {

/// All ranks that were started.
inline const kernels::Communicator& world() {
  static const kernels::Communicator all = kernels::world_communicator();
  return all;
}

}  // namespace paceline::tests
