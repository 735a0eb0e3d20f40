// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective/ranks.hpp"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "base/error.hpp"
#include "base/message.hpp"
#include "kernels/collective/mpi.hpp"
#include "kernels/collective/mpirun.hpp"
#include "kernels/collective/mpirun_command.hpp"
#include "kernels/host_load.hpp"

namespace paceline::kernels {
namespace {

constexpr int kMostRanks = 4096;

/// Nothing when it is not set; what is no number is an error.
std::optional<long> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view view = text;
  long value = 0;
  const auto [end, problem] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (problem != std::errc() || end != view.data() + view.size() || value < 0)
    throw base::Error(variable, base::quote(text) + " is no number",
                      "the program that starts the ranks sets it");
  return value;
}

/// Variables of one launcher: how many ranks, which one, which one of its node.
struct Variables {
  const char *launcher, *ranks, *rank, *local_rank;
};
constexpr Variables kLaunchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"srun", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID"},
    {"the launcher", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID"}};

/// Slurm sets the variables of a rank in batch scripts and interactive shells as well: their steps
/// have reserved numbers (slurm.h: from SLURM_MAX_NORMAL_STEP_ID), or one task.
bool is_no_job_step(const Variables& v, long ranks) {
  if (std::string_view(v.launcher) != "srun") return false;
  constexpr long kReserved = 0xfffffff0;
  return ranks == 1 || number_in("SLURM_STEP_ID").value_or(kReserved) >= kReserved;
}

/// Ranks that take turns on a core say nothing of a step's time, and their memory adds up.
void check_cores(int ranks) {
  constexpr int kMostOnCore = 4;
  const int cores = core_count();
  if (ranks <= kMostOnCore * cores) return;
  throw base::Error(
      "ranks",
      std::to_string(ranks) + " on a machine of " + std::to_string(cores) + " cores; at most " +
          std::to_string(kMostOnCore) + " share one",
      "change parallel with --set, or start the ranks on more machines with mpirun or "
      "srun");
}

}  // namespace

std::optional<Launch> launch() {
  for (const Variables& v : kLaunchers) {
    const std::optional<long> ranks = number_in(v.ranks), rank = number_in(v.rank);
    if (!ranks || !rank || is_no_job_step(v, *ranks)) continue;
    if (*ranks > 1'000'000 || *rank >= *ranks)
      throw base::Error(v.rank, "rank " + std::to_string(*rank) + " of " + std::to_string(*ranks),
                        std::string("it must be below ") + v.ranks);
    return Launch{v.launcher, static_cast<int>(*ranks), static_cast<int>(*rank),
                  static_cast<int>(number_in(v.local_rank).value_or(0))};
  }
  return std::nullopt;
}

std::optional<int> start_ranks(int ranks, std::span<char* const> argv) {
  if (ranks < 1 || ranks > kMostRanks)
    throw base::Error("ranks",
                      std::to_string(ranks) + " is not in 1 … " + std::to_string(kMostRanks));
  const std::optional<Launch> launched = launch();
  if (launched) {
    join_job(launched->rank);
    if (launched->ranks == ranks) return std::nullopt;
    if (launched->rank == 0)
      throw base::Error(launched->launcher,
                        "started " + std::to_string(launched->ranks) + " ranks, but " +
                            std::to_string(ranks) + " are asked for",
                        "the numbers must agree, or start without " + launched->launcher);
    // The first to fail ends the others, and one line is enough.
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return 2;
  }
  if (ranks == 1) return std::nullopt;
  require_ranks(ranks);
  return run_under_mpirun(ranks, argv);
}

void require_ranks(int ranks) {
  check_cores(ranks);
  require_mpi();
  find_mpirun();
}

std::string mpi_packages() {
  return "several ranks need Open MPI: apt-get install libopenmpi-dev openmpi-bin, then build "
         "again";
}

}  // namespace paceline::kernels
