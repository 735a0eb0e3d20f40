// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/operation.hpp"

/// a = b + s c: the measure of sustained memory bandwidth (McCalpin, STREAM, 1995), with its s = 3.
namespace paceline::kernels {

constexpr float kTriadScalar = 3;

PACELINE_DECLARE_DEVICE(triad_forward)

}  // namespace paceline::kernels
