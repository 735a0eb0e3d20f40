// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "kernels/collective/provider.hpp"

/// The door to the module that links MPI: the program itself starts where there is none.
namespace paceline::kernels {

struct MpiModule {
  std::size_t bytes;    ///< sizeof(MpiModule) + sizeof(Provider): a module of another build differs
  const char* library;  ///< "Open MPI v4.1.4"
  const Provider* provider;
  /// Initialises MPI on the first call. At the end of the process MPI is finalised when the exit
  /// status is 0; another status makes the launcher end the other ranks.
  Failure (*start)(ProviderHandle& world);
};
inline constexpr std::size_t kMpiModuleBytes = sizeof(MpiModule) + sizeof(Provider);

/// What the module exports.
using MpiModuleFunction = const MpiModule* (*)();
inline constexpr const char* kMpiSymbol = "paceline_mpi";
inline constexpr const char* kMpiModule = "libpaceline_mpi.so";

}  // namespace paceline::kernels
