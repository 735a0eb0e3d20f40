// SPDX-License-Identifier: Apache-2.0
// test_ranks [CATCH-ARGUMENT]…: what starts ranks, seen from outside.
// test_ranks --ranks N [CATCH-ARGUMENT]…: the collectives, by N ranks that it starts.
// test_ranks --ranks N --scenario NAME [ARGUMENT]…: N ranks that behave as asked (scenarios.cpp).
// Exit status 77 where MPI or mpirun is missing.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "kernels/collective/mpi.hpp"
#include "kernels/collective/ranks.hpp"
#include "tests/ranks/scenarios.hpp"
#include "tests/run_catch.hpp"

namespace {

constexpr int kSkipped = 77;

int run(const std::vector<char*>& words) {
  const bool ranks = words.size() > 2 && std::string(words[1]) == "--ranks";
  if (!ranks) {
    if (const std::string problem = paceline::tests::ranks_problem(); !problem.empty()) {
      std::printf("skipped: %s\n", problem.c_str());
      return kSkipped;
    }
    return paceline::tests::run_catch({words.begin(), words.end()}, "[process]");
  }
  if (const auto status = paceline::kernels::start_ranks(std::atoi(words[2]), words))
    return *status;
  const bool scenario = words.size() > 4 && std::string(words[3]) == "--scenario";
  if (scenario) return paceline::tests::run_scenario({words.begin() + 4, words.end()});
  std::vector<const char*> rest{words[0]};
  rest.insert(rest.end(), words.begin() + 3, words.end());
  return paceline::tests::run_catch(rest, "[ranks]");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv, argv + argc});
  } catch (const paceline::base::MissingError& error) {
    std::fprintf(stderr, "paceline: %s\n", error.what());
    return std::getenv("PACELINE_MISSING_IS_3") != nullptr ? 3 : kSkipped;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "paceline: %s\n", error.what());
    return 2;
  }
}
