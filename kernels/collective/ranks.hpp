// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>

/// Processes that are ranks of one job.
namespace paceline::kernels {

/// Where this process stands when mpirun or srun started it.
struct Launch {
  std::string launcher;  ///< "mpirun", "srun" or, where only PMI says so, "the launcher"
  int ranks = 1, rank = 0;
  int local_rank = 0;  ///< among those of its node: which device it takes
};
/// Nothing when this process was started by itself. base::Error when the environment's numbers
/// contradict each other.
std::optional<Launch> launch();

/// Makes `ranks` processes of this one. Nothing, when this process is one of them: it goes on
/// (alone when ranks is 1, or because mpirun or srun started it; a rank of start_ranks has its
/// error output redirected to the process that started it). Otherwise the ranks have run and ended,
/// and the caller exits with the status returned.
///
/// They are this program with arguments argv[1], …, in this folder, on this machine, under Open
/// MPI's mpirun, each bound to a core where there are enough. Standard input and output are those
/// of rank 0. Error output is that of rank 0 as it comes and, when all have ended, "rank 2: " and
/// what rank 2 said that no lower rank had. The status is the largest of the ranks', 128 + n when
/// the first to fail was ended by signal n (in one line on standard error), 130 and the like when a
/// signal asked this process to end: it ends the ranks, which have a second to tidy up. No rank
/// outlives this process.
///
/// base::Error when mpirun or srun started another number of ranks (their rank 0 says so, the
/// others return 2 after it), `ranks` is not in 1 … 4096 or more than 4 would share a core of this
/// machine; base::MissingError, naming the Debian packages, without mpirun or the module that links
/// MPI.
std::optional<int> start_ranks(int ranks, std::span<char* const> argv);

/// base::Error and base::MissingError as start_ranks() throws them where so many ranks cannot be
/// started here.
void require_ranks(int ranks);

/// What to install for several ranks: one line for errors and `check`.
std::string mpi_packages();

}  // namespace paceline::kernels
