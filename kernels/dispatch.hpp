// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/error.hpp"
#include "kernels/operation.hpp"

/// Calls function<T>(call, ...) with the stored floating-point type of the case.
#define PACELINE_BY_TYPE(call, function, ...)                                      \
  switch ((call).c.type) {                                                         \
    case ::paceline::kernels::DType::F32:                                          \
      return function<float>(call __VA_OPT__(, ) __VA_ARGS__);                     \
    case ::paceline::kernels::DType::Bf16:                                         \
      return function<::paceline::numeric::bf16>(call __VA_OPT__(, ) __VA_ARGS__); \
    case ::paceline::kernels::DType::F16:                                          \
      return function<::paceline::numeric::fp16>(call __VA_OPT__(, ) __VA_ARGS__); \
    default:                                                                       \
      PACELINE_CHECK(false);                                                       \
  }
