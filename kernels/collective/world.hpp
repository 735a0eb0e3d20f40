// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/backend.hpp"
#include "kernels/collective/communicator.hpp"

namespace paceline::kernels {

/// base::MissingError where `ranks` ranks of this backend cannot communicate: NCCL is missing or
/// too old. For the process that starts them.
void require_world(const Backend& backend, int ranks);

/// All ranks that were started together, for tensors in the backend's memory: world_communicator(),
/// over NCCL where that is the memory of GPUs, each rank having one of its own.
/// base::MissingError when two ranks would share a GPU.
Communicator world_of(const Backend& backend);

/// Whether all ranks run on one machine.
bool on_one_machine(const Communicator& world);

}  // namespace paceline::kernels
