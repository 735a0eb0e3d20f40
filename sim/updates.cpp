// SPDX-License-Identifier: Apache-2.0
#include "sim/updates.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace paceline::sim {
namespace {

bool has_pass(const Program& program, std::string_view name) {
  return std::any_of(program.passes.begin(), program.passes.end(),
                     [&](const Pass& pass) { return pass.name == name; });
}

std::uint8_t add_pass(Program& program, Pass pass) {
  PACELINE_CHECK(!has_pass(program, pass.name) && program.passes.size() < 255);
  program.passes.push_back(std::move(pass));
  return static_cast<std::uint8_t>(program.passes.size() - 1);
}

/// Where the gradients of one stage end on one rank.
struct LastGradient {
  std::int16_t stage = 0;
  std::int32_t microbatch = 0;  ///< the largest
  std::size_t index = 0;        ///< of the last one in the order
};

std::vector<LastGradient> last_gradients(const std::vector<Action>& order,
                                         const std::vector<bool>& gradient, int stages) {
  std::vector<int> slot(static_cast<std::size_t>(stages), -1);
  std::vector<LastGradient> found;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Action& action = order[i];
    if (!gradient[action.pass]) continue;
    int& at = slot[static_cast<std::size_t>(action.stage)];
    if (at < 0) {
      at = static_cast<int>(found.size());
      found.push_back({action.stage, action.microbatch, i});
    }
    LastGradient& last = found[static_cast<std::size_t>(at)];
    last.microbatch = std::max(last.microbatch, action.microbatch);
    last.index = i;
  }
  std::sort(found.begin(), found.end(),
            [](const LastGradient& a, const LastGradient& b) { return a.index < b.index; });
  return found;
}

/// Every gradient pass as something `pass` waits for where it stands.
std::vector<Read> gradient_reads(const Program& program) {
  const std::vector<bool> gradient = gradient_passes(program);
  std::vector<Read> reads;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    if (gradient[i]) reads.push_back({static_cast<std::uint8_t>(i), Reach::Same, true});
  }
  return reads;
}

}  // namespace

std::vector<bool> gradient_passes(const Program& program) {
  std::vector<bool> makes(program.passes.size(), false);
  for (std::size_t i = 0; i < makes.size(); ++i) {
    makes[i] = program.passes[i].name == "W" || program.passes[i].name == "BW";
  }
  if (std::find(makes.begin(), makes.end(), true) != makes.end()) return makes;
  for (std::size_t i = 0; i < makes.size(); ++i) {
    makes[i] = program.passes[i].direction == Direction::Up;
  }
  return makes;
}

std::uint8_t add_update_pass(Program& program) {
  Pass pass;
  pass.name = "U";
  pass.reads = gradient_reads(program);
  pass.sparse = true;
  return add_pass(program, std::move(pass));
}

void append_updates(Program& program, StepStart start) {
  if (has_pass(program, "U") || has_pass(program, "N")) {
    throw base::Error("program", "updates already stand in its order",
                      "the optimizer step is for schedules that leave it out");
  }
  const std::vector<bool> gradient = gradient_passes(program);
  std::uint8_t norm = 0;
  if (start == StepStart::NormBarrier) {
    Pass pass;
    pass.name = "N";
    pass.reads = gradient_reads(program);
    pass.sparse = true;
    norm = add_pass(program, std::move(pass));
  }
  const std::uint8_t update = add_update_pass(program);
  if (start == StepStart::NormBarrier) {
    program.passes[update].reads.push_back({norm, Reach::All, true});
  }
  for (std::size_t rank = 0; rank < program.order.size(); ++rank) {
    std::vector<Action>& order = program.order[rank];
    const std::vector<LastGradient> last = last_gradients(order, gradient, program.stages);
    if (last.empty()) {
      throw base::Error("program", "rank " + std::to_string(rank) + " has no gradients to apply");
    }
    const auto append = [&](std::uint8_t pass) {
      for (const LastGradient& l : last) order.push_back({pass, false, l.stage, 0, l.microbatch});
    };
    if (start == StepStart::NormBarrier) append(norm);
    append(update);
  }
}

}  // namespace paceline::sim
