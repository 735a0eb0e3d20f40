// SPDX-License-Identifier: Apache-2.0
#include "sim/schedules/list_search.hpp"
#include "sim/schedules/v_block.hpp"

namespace paceline::sim {
namespace {

BlockRow v_half_row(int ranks, int rank) {
  const int turn = ranks % 2 == 0 ? 3 : 0;  // keeps the slots of a rank apart modulo the period
  BlockRow row;
  row.forward[0] = 2 * rank;
  row.forward[1] = 3 * ranks - 2 - rank;
  row.backward[1] = 3 * ranks + turn + 2 * rank - 1;
  row.backward[0] = 6 * ranks + turn - 2 - rank;
  return row;
}

}  // namespace

// Qi et al., "Pipeline Parallelism with Controllable Memory" (2024): half the activations of 1F1B.
// The block runs squeezed: F and B keep its order, but for passes that can move up into the waits
// of the ramps without more memory, and W takes what waits remain. How far passes move is our
// reading.
Program v_half(const PipelineShape& shape) {
  check_chunks(shape, "v-half", 2);
  PipelineShape uniform = shape;
  uniform.times = {};
  const ListProblem problem = list_problem(uniform, (shape.ranks + 2) / 2);
  std::vector<std::vector<Action>> order;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    order.push_back(repeat_block(shape, rank, v_half_row(shape.ranks, rank)));
  }
  constexpr int kAhead = 2 * kBlockPeriod - 1;
  Program program = split_program(shape);
  program.order =
      follow_order(problem, std::move(order), {Fill::Fitting, kAhead, kAhead, kAhead, kAhead})
          .order;
  return program;
}

}  // namespace paceline::sim
