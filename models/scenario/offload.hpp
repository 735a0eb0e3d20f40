// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/config.hpp"

namespace paceline::models {

/// Activations that wait outside device memory between forward and backward, `offload` of the
/// scenario: `{activations: 0.5, to: host, bandwidth: 25 GB/s}`. The actions that keep theirs
/// longest are moved first (PipeOffload, arXiv 2503.01328, section 3). One copy each way at a time.
struct Offload {
  double share = 0;                ///< of the microbatches of a rank; 0: nothing is moved
  base::BytesPerSecond bandwidth;  ///< each way; 0: the device's link to the host
};

/// Moving to `nvme` needs its bandwidth: no spec lists drives.
Offload read_offload(base::Fields fields);

}  // namespace paceline::models
