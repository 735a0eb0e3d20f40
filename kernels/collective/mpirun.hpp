// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>

/// Both ends of what start_ranks (ranks.hpp) starts.
namespace paceline::kernels {

/// Runs this program as `ranks` ranks under mpirun until all have ended; the exit status.
int run_under_mpirun(int ranks, std::span<char* const> argv);

/// In a rank that run_under_mpirun started: ends with its mpirun, sends what it says where the
/// other process looks for it, and leaves its exit status there. Nothing in any other process.
void join_job(int rank);

}  // namespace paceline::kernels
