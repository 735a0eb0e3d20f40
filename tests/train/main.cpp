// SPDX-License-Identifier: Apache-2.0
// test_train [CATCH-ARGUMENT]…: training in one process.
// test_train --ranks N [CATCH-ARGUMENT]…: layouts of N ranks, which it starts.
// test_train --ranks N --train FILE STEPS [KEY=VALUE]…: trains a scenario and prints every loss.
// Exit status 77 where MPI or mpirun is missing.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "kernels/collective/ranks.hpp"
#include "kernels/train/train.hpp"
#include "tests/run_catch.hpp"

namespace {

using namespace paceline;

constexpr int kSkipped = 77;

int train_file(const std::vector<char*>& words) {
  const models::Scenario scenario =
      models::read_scenario_file(words.at(4), {words.begin() + 6, words.end()});
  const models::Plan plan = models::make_plan(scenario);
  kernels::train::TrainOptions options;
  options.steps = std::atoi(words.at(5));
  options.optimizer = kernels::train::optimizer_of(scenario);
  const kernels::Communicator world = kernels::world_communicator();
  kernels::train::train_gpt(
      scenario, plan, kernels::train::training_program(scenario, plan, options.steps), world,
      kernels::cpu_backend(), options, [&](const kernels::train::TrainStep& step) {
        if (world.rank() == 0)
          std::printf("step %d loss %.6f %.4f s\n", step.step, step.loss, step.seconds);
      });
  return 0;
}

int run(const std::vector<char*>& words) {
  const bool ranks = words.size() > 2 && std::string(words[1]) == "--ranks";
  if (!ranks) return paceline::tests::run_catch({words.begin(), words.end()}, "[train]");
  if (const auto status = kernels::start_ranks(std::atoi(words[2]), words)) return *status;
  if (words.size() > 5 && std::string(words[3]) == "--train") return train_file(words);
  std::vector<const char*> rest{words[0]};
  rest.insert(rest.end(), words.begin() + 3, words.end());
  return paceline::tests::run_catch(rest, "[ranks-" + std::string(words[2]) + "]");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv, argv + argc});
  } catch (const paceline::base::MissingError& error) {
    std::fprintf(stderr, "paceline: %s\n", error.what());
    return kSkipped;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "paceline: %s\n", error.what());
    return 2;
  }
}
