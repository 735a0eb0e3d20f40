// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/zb_auto.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "sim/schedules/list_search.hpp"
#include "sim/schedules/staggered.hpp"

namespace paceline::sim {
namespace {

void check_limit(const PipelineShape& shape, const char* name) {
  check_one_chunk(shape, name);
  const double limit = shape.options.memory_limit;
  if (limit == 0 || limit >= 1) return;
  throw base::Error(std::string("schedule ") + name,
                    "memory_limit " + std::to_string(limit) + " holds not even one microbatch",
                    "at least 1");
}

std::vector<std::vector<Action>> without_weights(Program program) {
  for (auto& order : program.order) {
    std::erase_if(order, [](const Action& action) { return action.pass == kWeight; });
  }
  return std::move(program.order);
}

}  // namespace

// Qi et al., "Zero Bubble Pipeline Parallelism" (ICLR 2024), section 3.1 and appendix C: B as soon
// as possible, F under the memory limit, W in the gaps; several yes-or-no choices, the best result
// is kept. The paper describes the choices in words; which ones there are here, and that the
// staggered order takes part (its forwards and inputs, W placed anew), is our reading. The best is
// the one with the shortest longest stage.
Program zb_auto(const PipelineShape& shape, const char* name, double limit, int lead) {
  check_limit(shape, name);
  const bool set = shape.options.memory_limit > 0;
  const ListProblem problem = list_problem(shape, set ? shape.options.memory_limit : limit);
  Found best;
  const auto offer = [&](Found found) {
    if (better(found, best)) best = std::move(found);
  };
  for (const Fill fill : {Fill::Fitting, Fill::Always, Fill::Balanced}) {
    for (int choice = 0; choice < 8; ++choice) {
      offer(search_order(problem, {fill, (choice & 1) != 0, (choice & 2) != 0, (choice & 4) != 0},
                         best.longest));
    }
    // It holds 1 + lead * (ranks - 1) microbatches.
    if (!set || shape.options.memory_limit >= 1 + lead * (shape.ranks - 1)) {
      offer(follow_order(problem, without_weights(staggered_program(shape, lead)), {fill},
                         best.longest));
    }
  }
  Program program = split_program(shape);
  program.order = std::move(best.order);
  return program;
}

}  // namespace paceline::sim
