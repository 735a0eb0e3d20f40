// SPDX-License-Identifier: Apache-2.0
// Stands for cuda/backend.cpp in builds without the CUDA toolkit.
#include "base/error.hpp"
#include "kernels/backend.hpp"

namespace paceline::kernels {

const Backend& cuda_backend() {
  throw base::MissingError(
      "cuda: this build has no CUDA kernels; build where nvcc is found (PACELINE_CUDA=AUTO)");
}

}  // namespace paceline::kernels
