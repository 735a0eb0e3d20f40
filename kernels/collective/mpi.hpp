// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "kernels/collective/communicator.hpp"

namespace paceline::kernels {

/// Whether the module that links MPI is there; `why` says why not.
bool mpi_available(std::string* why = nullptr);
/// base::MissingError, which names the packages, unless it is there.
void require_mpi();
/// "Open MPI v4.1.4"; base::MissingError without it.
std::string mpi_library();

/// All ranks MPI knows of. Initialises MPI (for several threads) on the first call; it is finalised
/// when the process ends well. base::MissingError without MPI.
Communicator mpi_communicator();

}  // namespace paceline::kernels
