// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/operation.hpp"

/// Copies of `bytes` bytes: from page-locked host memory to the device, back, and within the
/// device, as the driver's copy engines or kernels do them. On the processor all three are memcpy.
namespace paceline::kernels {

PACELINE_DECLARE_DEVICE(copy_forward)

}  // namespace paceline::kernels
