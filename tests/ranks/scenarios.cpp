// SPDX-License-Identifier: Apache-2.0
#include "tests/ranks/scenarios.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>

#include "base/error.hpp"
#include "kernels/collective/communicator.hpp"
#include "kernels/collective/mpi.hpp"
#include "kernels/collective/mpirun_command.hpp"

namespace paceline::tests {
namespace {

using kernels::Communicator;
using Words = std::vector<std::string>;

int number(const Words& words, std::size_t i) { return std::atoi(words.at(i).c_str()); }

/// Leaves its process id in the folder words[1], when there is one.
void leave_id(const Communicator& world, const Words& words) {
  if (words.size() < 2) return;
  const std::string file = words[1] + "/" + std::to_string(world.rank());
  std::ofstream(file + ".new") << getpid();
  std::rename((file + ".new").c_str(), file.c_str());
}

[[noreturn]] void wait_for_ever(const Communicator& world) {
  barrier(world);
  if (world.rank() == 0)
    for (;;) pause();
  for (;;) barrier(world);  // rank 0 never comes
}

int end_with(const Communicator& world, const Words& words) {
  barrier(world);
  if (world.rank() == number(words, 1)) return number(words, 2);
  wait_for_ever(world);
}

int die(const Communicator& world, const Words& words) {
  barrier(world);
  if (world.rank() == number(words, 1)) std::raise(number(words, 2));
  for (;;) barrier(world);
}

int fail_together(const Communicator&, const Words&) {
  throw base::Error("scenario.yaml:3:1", "everyone sees this");
}

/// Rank 0 sends more than rank 1 has room for.
int too_long(const Communicator& world, const Words&) {
  float values[10] = {};
  if (world.rank() == 0)
    for (int to = 1; to < world.size(); ++to) send(world, {values, kernels::DType::F32, 10}, to);
  if (world.rank() > 0) recv(world, {values, kernels::DType::F32, 5}, 0);
  barrier(world);
  return 0;
}

int chatter(const Communicator& world, const Words&) {
  for (int line = 0; line < 2000; ++line) {
    std::printf("out %d of rank %d: %s\n", line, world.rank(), "................................");
    if (line < 500) {  // in pieces
      std::fprintf(stderr, "error %d", line);
      std::fprintf(stderr, " of rank %d\n", world.rank());
    }
  }
  return 0;
}

int where(const Communicator& world, const Words& words) {
  char folder[4096] = {};
  if (world.rank() == world.size() - 1)
    std::fprintf(stderr, "%s %s\n", getcwd(folder, sizeof folder), words.at(1).c_str());
  return 0;
}

int terminals(const Communicator& world, const Words&) {
  if (world.rank() == 0) std::printf("%d%d\n", isatty(STDOUT_FILENO), isatty(STDERR_FILENO));
  return 0;
}

int hang(const Communicator& world, const Words& words) {
  leave_id(world, words);
  wait_for_ever(world);
}

}  // namespace

std::string ranks_problem() {
  std::string why;
  if (!kernels::mpi_available(&why)) return why;
  try {
    kernels::mpirun_command(2, {});
  } catch (const base::MissingError& error) {
    return error.what();
  }
  return "";
}

int run_scenario(const std::vector<std::string>& words) {
  static const std::map<std::string, int (*)(const Communicator&, const Words&)> scenarios{
      {"end-with", end_with},
      {"die", die},
      {"fail-together", fail_together},
      {"too-long", too_long},
      {"hang", hang},
      {"chatter", chatter},
      {"where", where},
      {"terminals", terminals}};
  const Communicator world = kernels::world_communicator();
  return scenarios.at(words.at(0))(world, words);
}

}  // namespace paceline::tests
