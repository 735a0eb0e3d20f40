// SPDX-License-Identifier: Apache-2.0
#include "reports/timeline.hpp"

#include <catch2/catch.hpp>

#include "tests/unit/reports/example.hpp"

using namespace paceline;

namespace {

std::string picture_of(const sim::Prediction& prediction) {
  return reports::timeline_svg(reports::make_answer(tests::example_scenario(), prediction, "c"),
                               prediction);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("the picture has a row per rank class, a legend and microbatch numbers", "[reports]") {
  const std::string text = picture_of(tests::example_prediction());
  CHECK(count(text, ">ranks 0-3</text>") == 1);
  CHECK(count(text, ">ranks 4-7</text>") == 1);
  CHECK(count(text, ">F forward</text>") == 1);
  CHECK(count(text, ">BW backward</text>") == 1);
  CHECK(count(text, ">W weight gradient</text>") == 0);
  CHECK(count(text, "text-anchor=\"middle\">2</text>") == 4);  // F and BW of microbatch 2 twice
  CHECK(count(text, "time in the step, ms") == 1);
}

TEST_CASE("a picture of very many tasks stays small", "[reports]") {
  auto prediction = tests::example_prediction();
  const double step = prediction.timeline.makespan;
  for (int i = 0; i < 200000; ++i) {
    sim::Task task;
    task.lane = 0;
    task.stream = sim::Stream::Tp;
    task.kind = sim::TaskKind::Collective;
    task.segment = static_cast<std::uint16_t>(3);
    prediction.graph.add(task);
    prediction.timeline.start.push_back(step * i / 200000);
    prediction.timeline.finish.push_back(step * (i + 0.9) / 200000);
  }
  CHECK(picture_of(prediction).size() < 400000);
}

TEST_CASE("of many rank classes an even selection with both ends is drawn", "[reports]") {
  auto prediction = tests::example_prediction();
  prediction.graph.lanes.resize(40, {7, 1, {}});
  const std::string text = picture_of(prediction);
  CHECK(text.find("16 of 40 rank classes") != std::string::npos);
}
