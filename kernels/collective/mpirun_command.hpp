// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <vector>

namespace paceline::kernels {

/// The full path of mpirun; base::MissingError without one in PATH.
std::string find_mpirun();

/// The command that runs this program with argv[1], … as ranks of this machine: the full path of
/// mpirun and its arguments. base::MissingError without mpirun.
std::vector<std::string> mpirun_command(int ranks, std::span<char* const> argv);

/// "NAME=value" of this process and `added`, without Slurm's variables: with them mpirun would use
/// the nodes of the job.
std::vector<std::string> mpirun_environment(const std::string& added);

}  // namespace paceline::kernels
