// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/attention/attention.hpp"

namespace paceline::kernels {

/// kernels/cuda/attention_cudnn.cpp
PACELINE_DECLARE_DEVICE(attention_cudnn_forward)
PACELINE_DECLARE_DEVICE(attention_cudnn_backward)

}  // namespace paceline::kernels
