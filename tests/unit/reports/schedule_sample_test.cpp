// SPDX-License-Identifier: Apache-2.0
#include "reports/schedule_sample.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "sim/schedules/about.hpp"

using namespace paceline;
using namespace paceline::reports;

TEST_CASE("every schedule is described, and accepts a small shape that runs", "[reports]") {
  for (const sim::Schedule& schedule : sim::schedules()) {
    INFO(schedule.name);
    CHECK(sim::about(schedule.name) != nullptr);
    const ScheduleSample s = sample(schedule, accepted_shape(schedule, 4, 8));
    const ScheduleFigures f = figures(s);
    CHECK(f.work > 0);
    CHECK(f.makespan >= f.longest_stage);
    CHECK(f.longest_stage >= f.work - 1e-9);
    CHECK(f.peak.size() == static_cast<std::size_t>(s.shape.ranks));
    CHECK(f.buffers >= 1);
    const std::string picture = schedule_svg(schedule, s);
    CHECK(picture.size() < 30'000);
    CHECK(picture.find("nan") == std::string::npos);
    CHECK(picture.ends_with("</svg>\n"));
    const std::string gantt = gantt_text(s, false);
    CHECK(gantt.find("rank 0") == 0);
    CHECK(gantt.find('\x1b') == std::string::npos);
    // Colours change nothing but colours.
    std::string coloured = gantt_text(s, true);
    for (std::size_t at = coloured.find('\x1b'); at != std::string::npos;
         at = coloured.find('\x1b'))
      coloured.erase(at, coloured.find('m', at) + 1 - at);
    std::erase(coloured, ' ');
    std::string plain = gantt;
    std::erase(plain, ' ');
    CHECK(coloured == plain);
  }
}

TEST_CASE("the figures of 1F1B are those of its closed form", "[reports]") {
  const ScheduleFigures f = figures(sample(sim::find_schedule("1f1b", ""), {4, 1, 8}));
  CHECK(f.work == 24);
  CHECK(f.makespan == 33);
  CHECK(f.bubble() == Approx(9.0 / 33));
  CHECK(f.peak == std::vector<double>{4, 3, 2, 1});
  CHECK(f.messages == 6);
  CHECK(f.buffers == 1);
}

TEST_CASE("ranks by time in letters", "[reports]") {
  CHECK(gantt_text(sample(sim::find_schedule("1f1b", ""), {2, 1, 2}), false) ==
        "rank 0  |FF..BW.BW\n"
        "       m|01  0  1\n"
        "rank 1  |.FBWFBW..\n"
        "       m| 00 11\n");
  const std::string chunks =
      gantt_text(sample(sim::find_schedule("interleaved-1f1b", ""), {2, 2, 2}), false);
  CHECK(chunks.find("       s|0022") != std::string::npos);
}
