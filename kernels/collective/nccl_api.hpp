// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nccl.h>

#include <span>
#include <string>

/// NCCL's functions out of a library that is loaded at run time; nccl.h gives their types only.
namespace paceline::kernels {

#define PACELINE_NCCL_FUNCTIONS(use)                                                      \
  use(GetVersion) use(GetUniqueId) use(CommInitRank) use(CommDestroy) use(GetErrorString) \
      use(GroupStart) use(GroupEnd) use(AllReduce) use(ReduceScatter) use(Broadcast)      \
          use(AllGather) use(Send) use(Recv)

struct NcclApi {
#define PACELINE_NCCL_MEMBER(name) decltype(&nccl##name) name = nullptr;
  PACELINE_NCCL_FUNCTIONS(PACELINE_NCCL_MEMBER)
#undef PACELINE_NCCL_MEMBER
  decltype(&ncclGetLastError) GetLastError = nullptr;  ///< from 2.13; null before
  int version = 0;
};

/// From the first library of these names that can be loaded. base::MissingError as nccl_version()
/// (nccl.hpp) says.
NcclApi load_nccl(std::span<const char* const> names);
/// The one of this machine, loaded once.
const NcclApi& nccl_api();

}  // namespace paceline::kernels
