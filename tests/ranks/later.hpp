// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/backend.hpp"
#include "kernels/collective/communicator.hpp"

/// A stand-in for GPUs and NCCL: work and messages are put into streams and done, on the processor
/// and over MPI, when somebody waits, the stream that was made last first.
namespace paceline::tests {

const kernels::Backend& later_backend();
kernels::Communicator later_communicator(kernels::Communicator host);

}  // namespace paceline::tests
