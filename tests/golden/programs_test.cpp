// SPDX-License-Identifier: Apache-2.0
// tests/golden/programs holds the text of small programs, one file per schedule and shape.
// PACELINE_UPDATE_GOLDEN=1 rewrites them; review the diff.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "sim/schedules/schedule.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

constexpr PipelineShape kShapes[] = {{4, 1, 8}, {4, 2, 8}, {3, 1, 2}};

std::string file_name(const Schedule& schedule, const PipelineShape& shape) {
  return std::string(schedule.name) + "_p" + std::to_string(shape.ranks) + "_v" +
         std::to_string(shape.chunks) + "_m" + std::to_string(shape.microbatches) + ".txt";
}

std::string read_golden(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("programs are the recorded ones", "[golden]") {
  const std::filesystem::path folder =
      std::filesystem::path(PACELINE_SOURCE) / "tests/golden/programs";
  const char* const update = std::getenv("PACELINE_UPDATE_GOLDEN");
  std::set<std::string> expected;
  for (const Schedule& schedule : schedules()) {
    for (const PipelineShape& shape : kShapes) {
      Program program;
      try {
        program = schedule.build(shape);
      } catch (const base::Error&) {
        continue;  // the schedule is not made for this shape
      }
      const std::string name = file_name(schedule, shape);
      INFO(name);
      expected.insert(name);
      if (update != nullptr && std::string(update) == "1") {
        std::ofstream(folder / name, std::ios::binary) << to_text(program);
      }
      const std::string recorded = read_golden(folder / name);
      CHECK(to_text(program) == recorded);
      CHECK(parse_program(recorded, name) == program);
    }
    INFO(schedule.name);
    CHECK(std::any_of(expected.begin(), expected.end(), [&](const std::string& name) {
      return name.rfind(std::string(schedule.name) + "_p", 0) == 0;
    }));
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    INFO(entry.path());
    CHECK(expected.count(entry.path().filename().string()) == 1);
  }
}
