// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/schedules/common.hpp"
#include "sim/schedules/greedy.hpp"

namespace paceline::sim {
namespace {

enum JanusPass : std::uint8_t { kFE, kFF, kBF, kBE };

/// Without given times: matrix products of a linear layer. The energy forward and the force forward
/// (an input gradient) have one each, their backwards a gradient to the input and one to the
/// weights.
constexpr double kProducts[] = {1, 1, 2, 2};

double janus_seconds(const PipelineShape& shape, const Program& program, int pass, int stage) {
  const auto p = static_cast<std::size_t>(pass);
  for (const PassTimes& given : shape.times.others) {
    if (given.pass != program.passes[p].name || given.seconds.empty()) continue;
    const bool one = given.seconds.size() == 1;
    return given.seconds.at(one ? 0 : static_cast<std::size_t>(stage)).at(0).value;
  }
  return kProducts[p];
}

/// `waves`: all forward passes of a unit before its backward ones, where both are ready; otherwise
/// what is nearest to its end.
Program janus_order(const PipelineShape& shape, int unit, bool waves, double& makespan) {
  Program program = empty_program(shape);
  program.passes = {{"FE", Direction::Down, {}, {}},
                    {"FF", Direction::Up, {kFE}, {}},
                    {"BF", Direction::Down, {kFF}, {}},
                    {"BE", Direction::Up, {kFE, kBF}, {kFE}}};
  GreedyRules rules;
  rules.rank = [](int stage, int) { return stage; };
  rules.seconds = [&](int pass, int stage) { return janus_seconds(shape, program, pass, stage); };
  rules.hop = shape.times.hop.value;
  rules.window = unit;
  constexpr int kWaveOrder[] = {1, 0, 3, 2}, kEndFirst[] = {3, 2, 1, 0};
  rules.priority = [&](const Action& a) {
    const std::int64_t kind = waves ? kWaveOrder[a.pass] : kEndFirst[a.pass];
    const std::int64_t of_unit = waves ? a.microbatch / unit : 0;
    return (of_unit * 4 + kind) * shape.microbatches + a.microbatch;
  };
  makespan = greedy_order(program, rules);
  return program;
}

}  // namespace

// JanusPipe (abstract and secondary sources; no order list is public) trains with a loss on a
// gradient, so a microbatch passes the stages four times: energy forward FE down, force forward FF
// up, backward of the force BF down, backward of the energy BE up. Our reading:
//  - SymFold: the chain of FE stages and FF stages folds in the middle, so a stage's FE, FF, BF and
//    BE stand on one rank and share its weights and activations;
//  - WaveK: K microbatches (option group, default one per rank) make a unit: a wave of FE and FF,
//    then a wave of BF and BE; units overlap where one ends and the next begins, and a stage holds
//    no more than K microbatches from FE to BE.
// Of two list schedules, in waves or nearest to the end first, the one is taken that is shorter for
// up to four microbatches per rank. What BE frees stands for all that FE and FF leave.
Program januspipe(const PipelineShape& shape) {
  check_chunks(shape, "januspipe", 1);
  const int unit = shape.options.group > 0 ? shape.options.group : shape.ranks;
  PipelineShape sample = shape;
  sample.microbatches = std::min(shape.microbatches, 4 * shape.ranks);
  double in_waves = 0, end_first = 0;
  janus_order(sample, unit, true, in_waves);
  janus_order(sample, unit, false, end_first);
  return janus_order(shape, unit, in_waves <= end_first, in_waves);
}

}  // namespace paceline::sim
