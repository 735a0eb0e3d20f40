// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime.h>

#include <source_location>

namespace paceline::kernels::cuda {

/// Throws base::Error with the call's place and CUDA's words unless it succeeded; running out of
/// device memory names the bytes that are free.
void check(cudaError_t status, std::source_location place = std::source_location::current());

}  // namespace paceline::kernels::cuda
