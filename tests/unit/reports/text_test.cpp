// SPDX-License-Identifier: Apache-2.0
#include "reports/text.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/unit/reports/example.hpp"

using namespace paceline;
using reports::TextStyle;

namespace {

reports::Answer answer_of(const sim::Prediction& prediction) {
  return reports::make_answer(tests::example_scenario(), prediction,
                              "paceline run scenarios/example.yaml --engine reference");
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

TEST_CASE("the printed answer fits one screen and uses no escape codes in a pipe", "[reports]") {
  auto prediction = tests::example_prediction();
  prediction.result.breakdown.fill(0.01);
  prediction.result.memory[0].parts.fill(6e9);
  prediction.result.assumptions.assign(30, "something that was assumed because no source says it");
  prediction.result.warnings.assign(12, std::string(180, 'w') + " and more words at the end");
  const auto lines = lines_of(to_text(answer_of(prediction), TextStyle{}));
  CHECK(lines.size() <= 45);
  for (const std::string& line : lines) {
    CHECK(reports::columns(line) <= 100);
    CHECK(line.find('\033') == std::string::npos);
  }
}

TEST_CASE("the printed answer names times, memory, verdict and how to repeat it", "[reports]") {
  const std::string text = to_text(answer_of(tests::example_prediction()), TextStyle{});
  for (const char* part : {"Example on 8 H100",
                           "Step time  131 ms",
                           "128 ms to 135 ms",
                           "MFU 51.2 %",
                           "HFU 55.0 %",
                           "530.00 TFLOP of model per step",
                           "exposed dp",
                           "bubble",
                           "fits: 61.5 GiB of 80.0 GiB (76.9 %)",
                           "ranks 0-3",
                           "the other rank class: 58.0 GiB",
                           "parameters",
                           "30.0 GiB",
                           "none assumed",
                           "paceline run scenarios/example.yaml --engine reference",
                           "scenario 0123456789abcdef",
                           "profile h100",
                           "stack megatron-2021",
                           "engine reference",
                           "tp 2 + sequence parallel",
                           "12 sequences of 2048 tokens in 3 microbatches of 2"}) {
    INFO(part << " in\n" << text);
    CHECK(text.find(part) != std::string::npos);
  }
}

TEST_CASE("what does not fit says on which rank and when", "[reports]") {
  auto prediction = tests::example_prediction();
  prediction.result.memory[1].reserved_bytes = 1.5 * prediction.result.memory[1].capacity_bytes;
  const std::string text = to_text(answer_of(prediction), TextStyle{});
  CHECK(text.find("DOES NOT FIT: rank 4 needs 120.0 GiB of 80.0 GiB (150.0 %) at 45.0 ms") !=
        std::string::npos);
  CHECK(text.find("Step time") != std::string::npos);
}

TEST_CASE("names from files cannot steer the terminal", "[reports]") {
  auto scenario = tests::example_scenario();
  scenario.name = "evil\033[31m\nname";
  scenario.model.name =
      "\xC2\x9B"
      "31m";
  const auto answer = reports::make_answer(scenario, tests::example_prediction(), "c");
  const std::string text = to_text(answer, TextStyle{});
  CHECK(text.find('\033') == std::string::npos);
  CHECK(text.find('\xC2') == std::string::npos);
}

TEST_CASE("colour and blocks appear only when the style asks", "[reports]") {
  const auto answer = answer_of(tests::example_prediction());
  const std::string rich = to_text(answer, TextStyle{.colour = true, .blocks = true});
  CHECK(rich.find("\033[1m") != std::string::npos);
  CHECK(rich.find("\u2588") != std::string::npos);
}

TEST_CASE("wrapping keeps every word and breaks words longer than a line", "[reports]") {
  CHECK(reports::wrap("one two three", 8) == std::vector<std::string>{"one two", "three"});
  CHECK(reports::wrap("abcdefgh", 3) == std::vector<std::string>{"abc", "def", "gh"});
  CHECK(reports::wrap("", 3) == std::vector<std::string>{""});
  CHECK(reports::wrap("\xC3\xA9\xC3\xA9 \xC3\xA9", 2) ==
        std::vector<std::string>{"\xC3\xA9\xC3\xA9", "\xC3\xA9"});
}

TEST_CASE("a bar of a small share still shows", "[reports]") {
  CHECK(reports::bar(0, 50, {}).empty());
  CHECK(reports::bar(1e-6, 50, {}) == "#");
  CHECK(reports::bar(2, 10, {}).size() == 10);
}

TEST_CASE("a nearly full device is named in the verdict, the warning is the result's own",
          "[reports]") {
  auto prediction = tests::example_prediction();
  prediction.result.memory[1].reserved_bytes = 0.95 * prediction.result.memory[1].capacity_bytes;
  const auto answer = answer_of(prediction);
  CHECK(to_text(answer, TextStyle{}).find("fits, nearly full: 76.0 GiB") != std::string::npos);
  CHECK(answer.result.warnings == prediction.result.warnings);
}
