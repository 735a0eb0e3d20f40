// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective/mpirun_command.hpp"

#include <sched.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "kernels/collective/ranks.hpp"

extern char** environ;  // POSIX: the program declares it

namespace paceline::kernels {
namespace {

/// Cores this process may use; the threads of one core count once.
int core_count() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/topology/thread_siblings_list");
    std::string siblings;
    if (!std::getline(file, siblings)) siblings = std::to_string(cpu);
    cores.insert(siblings);
  }
  return static_cast<int>(cores.size());
}

/// Open MPI copies between processes with process_vm_readv. Containers often forbid it, and then
/// every large message fails with a complaint.
bool may_read_other_processes() {
  char from = 1, to = 0;
  const iovec local{&to, 1}, remote{&from, 1};
  return ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) == 1;
}

/// Without a remote shell to look for: all ranks are here. They print no stack traces. They end
/// with the thread that started them (join_job), which must be the one that lives to the end.
constexpr std::pair<const char*, const char*> kSettings[] = {
    {"plm", "isolated"}, {"opal_signal", ""}, {"odls_base_num_threads", "0"}};

}  // namespace

std::string find_mpirun() {
  const char* path = std::getenv("PATH");
  for (const char* name : {"mpirun.openmpi", "mpirun"}) {
    std::istringstream folders(path == nullptr ? "/usr/local/bin:/usr/bin:/bin" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
      const std::string file = (folder.empty() ? "." : folder) + "/" + name;
      if (::access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file)) return file;
    }
  }
  throw base::MissingError("mpirun is not found: " + mpi_packages());
}

std::vector<std::string> mpirun_command(int ranks, std::span<char* const> argv) {
  std::vector<std::string> words{find_mpirun(), "--oversubscribe",
                                 "-np",         std::to_string(ranks),
                                 "--bind-to",   ranks <= core_count() ? "core" : "none"};
  if (::geteuid() == 0) words.insert(words.begin() + 1, "--allow-run-as-root");
  for (const auto& [name, value] : kSettings) words.insert(words.end(), {"--mca", name, value});
  if (!may_read_other_processes())
    words.insert(words.end(), {"--mca", "btl_vader_single_copy_mechanism", "none"});
  std::array<char, 4096> self{};
  if (::readlink("/proc/self/exe", self.data(), self.size() - 1) < 0)
    throw base::Error("/proc/self/exe", std::strerror(errno));
  words.emplace_back(self.data());
  for (std::size_t i = 1; i < argv.size(); ++i) words.emplace_back(argv[i]);
  return words;
}

std::vector<std::string> mpirun_environment(const std::string& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("SLURM_")) result.emplace_back(*entry);
  result.push_back(added);
  return result;
}

}  // namespace paceline::kernels
