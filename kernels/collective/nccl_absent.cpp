// SPDX-License-Identifier: Apache-2.0
// Stands for nccl.cpp and nccl_api.cpp in builds without CUDA or NCCL's header.
#include "base/error.hpp"
#include "kernels/collective/nccl.hpp"

namespace paceline::kernels {
namespace {

[[noreturn]] void missing() {
  throw base::MissingError(
      "NCCL is not available: this build has none; build where nvcc and nccl.h are found");
}

}  // namespace

int nccl_version() { missing(); }
int nccl_version_of(const char*) { missing(); }

Communicator nccl_communicator(Communicator) { missing(); }

}  // namespace paceline::kernels
