// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace paceline::kernels {

/// Queue of work on a device: a cudaStream_t, or nothing on the processor. Owned by the backend.
struct Stream {
  void* handle = nullptr;
};

}  // namespace paceline::kernels
