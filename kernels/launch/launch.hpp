// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/operation.hpp"

/// `count` kernels that do nothing, one after another on a stream: the floor under a kernel's time.
/// On the processor, calls of a function that does nothing.
namespace paceline::kernels {

PACELINE_DECLARE_DEVICE(launch_forward)

}  // namespace paceline::kernels
