// SPDX-License-Identifier: Apache-2.0
// tests/golden/results holds the result file of every example, numbers rounded to 12 digits.
// PACELINE_UPDATE_GOLDEN=1 rewrites them; review the diff.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/config.hpp"
#include "reports/answer.hpp"
#include "reports/result_json.hpp"
#include "sim/predict.hpp"

using namespace paceline;
namespace fs = std::filesystem;

namespace {

const fs::path kSource = PACELINE_SOURCE;

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool is_number(const std::string& word) {
  char* end = nullptr;
  std::strtod(word.c_str(), &end);
  return end == word.c_str() + word.size() &&
         word.find_first_not_of("0123456789+-.eE") == std::string::npos;
}

/// Numbers outside texts with 12 significant digits: what the order of additions may change goes.
std::string rounded(const std::string& json) {
  std::string out, word;
  bool in_text = false;
  const auto flush = [&] {
    if (!word.empty() && is_number(word)) {
      char text[40];
      std::snprintf(text, sizeof text, "%.12g", std::strtod(word.c_str(), nullptr));
      word = text;
    }
    out += word;
    word.clear();
  };
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    const bool in_word = !in_text && (std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                                      c == '.' || c == '-' || c == '+');
    if (in_word) {
      word += c;
      continue;
    }
    flush();
    out += c;
    if (in_text && c == '\\') out += json[++i];
    if (c == '"') in_text = !in_text;
  }
  flush();
  return out;
}

/// The result as `paceline run scenarios/NAME --json -` writes it in the source folder.
std::string result_of(const fs::path& scenario) {
  const std::string file = "scenarios/" + scenario.filename().string();
  models::Scenario s = models::read_scenario_file(scenario.string());
  s.file = file;
  return rounded(reports::to_json(reports::make_answer(
      s, sim::predict(s), reports::run_command(file, {}, "--engine reference"))));
}

bool update() {
  const char* const asked = std::getenv("PACELINE_UPDATE_GOLDEN");
  return asked != nullptr && std::string(asked) == "1";
}

}  // namespace

TEST_CASE("results of the examples are the recorded ones", "[golden]") {
  const fs::path folder = kSource / "tests/golden/results";
  std::set<std::string> expected;
  for (const auto& entry : fs::directory_iterator(kSource / "scenarios")) {
    if (entry.path().extension() != ".yaml") continue;
    const std::string name = entry.path().stem().string() + ".json";
    INFO(name << ": PACELINE_UPDATE_GOLDEN=1 records what is meant to change");
    expected.insert(name);
    const std::string result = result_of(entry.path());
    if (update()) {
      fs::create_directories(folder);
      std::ofstream(folder / name, std::ios::binary) << result;
    }
    CHECK(result == read_file(folder / name));
  }
  CHECK(expected.size() >= 8);
  for (const auto& entry : fs::directory_iterator(folder)) {
    INFO(entry.path() << " belongs to no example");
    CHECK(expected.count(entry.path().filename().string()) == 1);
  }
}

TEST_CASE("numbers are rounded outside texts only", "[golden]") {
  CHECK(rounded(R"({"a 1.00": 0.10000000000000009, "b": ["1.10", -2e-05, true]})") ==
        R"({"a 1.00": 0.1, "b": ["1.10", -2e-05, true]})");
  CHECK(rounded(R"(["\"1.00", 123456789012])") == R"(["\"1.00", 123456789012])");
}
