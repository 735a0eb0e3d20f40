// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace paceline::kernels {

/// Queue of work on a device: a cudaStream_t, or nothing on the processor. Owned by the backend.
struct Stream {
  void* handle = nullptr;
};

/// A moment in a stream, once it is recorded there: a cudaEvent_t, or a time of the processor's
/// clock. Owned by the backend.
struct Event {
  void* handle = nullptr;
};

}  // namespace paceline::kernels
