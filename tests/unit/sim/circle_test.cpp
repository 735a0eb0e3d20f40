// SPDX-License-Identifier: Apache-2.0
#include "sim/circle.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>

#include "base/rng.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/verify.hpp"
#include "tests/unit/base/message_of.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

/// Orders of a correct program, shuffled.
Program shuffled(std::uint64_t seed) {
  base::Rng rng(seed);
  const auto below = [&](std::size_t n) {
    return std::min(n - 1, static_cast<std::size_t>(rng.uniform(0, static_cast<double>(n))));
  };
  Program program =
      one_f_one_b({static_cast<int>(1 + below(4)), 1, static_cast<int>(1 + below(4))});
  for (auto& order : program.order) {
    for (std::size_t swaps = below(4); swaps > 0; --swaps)
      std::swap(order[below(order.size())], order[below(order.size())]);
    if (below(4) == 0) order[below(order.size())].fused = true;
    order.back().fused = false;
  }
  return program;
}

/// The fewest waits of any circle, from the definition: a step to what an action of the rank needs,
/// which may stand at the action, before it, or in its fused group. 0: no circle.
std::size_t fewest_waits(const Program& program) {
  const ActionIndex index(program);
  std::size_t best = 0;
  for (std::size_t rank = 0; rank < program.order.size(); ++rank) {
    for (std::size_t i = 0; i < program.order[rank].size(); ++i) {
      std::vector<std::vector<std::size_t>> waits(program.order.size());
      for (std::size_t r = 0; r < waits.size(); ++r)
        waits[r].assign(program.order[r].size(), ~std::size_t{0});
      std::deque<Position> queue;
      const auto reach = [&](Position at, std::size_t count) {
        auto r = static_cast<std::size_t>(at.rank);
        auto last = static_cast<std::size_t>(at.index);
        while (program.order[r][last].fused) ++last;
        if (count > 0 && r == rank && last >= i && (best == 0 || count < best)) best = count;
        for (std::size_t k = 0; k <= last; ++k) {
          if (waits[r][k] <= count) continue;
          waits[r][k] = count;
          queue.push_back({at.rank, static_cast<std::int32_t>(k)});
        }
      };
      reach({static_cast<std::int32_t>(rank), static_cast<std::int32_t>(i)}, 0);
      while (!queue.empty()) {
        const Position at = queue.front();
        queue.pop_front();
        const auto r = static_cast<std::size_t>(at.rank);
        const auto k = static_cast<std::size_t>(at.index);
        index.for_each_need(program.order[r][k], [&](const Action& need) {
          reach(index.position(need), waits[r][k] + 1);
        });
      }
    }
  }
  return best;
}

std::string verify_error(const Program& program) {
  return ::tests::message_of([&] { verify(program); });
}

}  // namespace

TEST_CASE("the circle named is a circle, and none is shorter", "[sim]") {
  int circles = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const Program program = shuffled(seed);
    INFO(to_text(program));
    const std::size_t fewest = fewest_waits(program);
    REQUIRE(verify_error(program).empty() == (fewest == 0));
    if (fewest == 0) continue;
    ++circles;
    const ActionIndex index(program);
    const std::vector<std::size_t> from_the_start(program.order.size(), 0);
    const std::vector<Wait> circle = shortest_circle(program, index, from_the_start);
    REQUIRE(circle.size() == fewest);
    for (std::size_t i = 0; i < circle.size(); ++i) {
      const Wait& wait = circle[i];
      const auto& order = program.order[static_cast<std::size_t>(wait.action.rank)];
      bool needed = false;
      index.for_each_need(
          order[static_cast<std::size_t>(wait.action.index)],
          [&](const Action& need) { needed = needed || index.position(need) == wait.need; });
      REQUIRE(needed);
      REQUIRE(circle[(i + 1) % circle.size()].action.rank == wait.need.rank);
    }
  }
  CHECK(circles > 100);
}

TEST_CASE("of two circles the shorter is named", "[sim]") {
  // Ranks 0 and 1 hold each other up; rank 2 waits for an action behind its own.
  const Program program = parse_program(
      "program stages=3 microbatches=2 slices=1\npass F down\npass BW up reads F frees F\n"
      "rank 0: 0F0 0BW0 0F1 0BW1\nrank 1: 1F1 1BW1 1F0 1BW0\nrank 2: 2F0 2BW1 2F1 2BW0\n",
      "t");
  CHECK_THAT(verify_error(program),
             Catch::Matchers::Contains("rank 2 waits for itself for ever; 2BW1 (rank 2, position "
                                       "1) waits for 2F1 (rank 2, position 2), behind 2BW1"));
}

TEST_CASE("a circle of many ranks is cut", "[sim]") {
  // Twelve local passes on ranks of their own, each of which reads the next.
  constexpr int kRanks = 12;
  Program program;
  program.stages = program.microbatches = 1;
  for (int r = 0; r < kRanks; ++r) {
    Pass pass{std::string(1, static_cast<char>('a' + r)), Direction::None, {}, {}};
    pass.reads.push_back(Read(static_cast<std::uint8_t>((r + 1) % kRanks)));
    program.passes.push_back(pass);
    Action action;
    action.pass = static_cast<std::uint8_t>(r);
    program.order.push_back({action});
  }
  CHECK_THAT(verify_error(program), Catch::Matchers::Contains("and 4 more waits close the circle"));
}
