// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "kernels/collective/communicator.hpp"

namespace paceline::kernels {

/// The oldest NCCL that knows all that is used here: bf16 came with 2.10.
inline constexpr int kOldestNccl = 21000;
/// "2.28.9" for ncclGetVersion's 22809; releases before 2.9 counted in thousands (2804 is 2.8.4).
std::string nccl_version_text(int version);

/// The library's version, loaded on the first call. base::MissingError in one line: a build without
/// NCCL's header, no libnccl.so.2, one that is too old.
int nccl_version();
/// Of the library with this name or path, the same way.
int nccl_version_of(const char* library);

/// The ranks of `host`, an MPI communicator or one of this process alone, on the CUDA device that
/// is current in each: one device per rank. All its members call it. base::MissingError without
/// NCCL, driver or device; base::Error where NCCL cannot connect them.
Communicator nccl_communicator(Communicator host);

}  // namespace paceline::kernels
