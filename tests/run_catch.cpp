// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_RUNNER
#include "tests/run_catch.hpp"

#include <catch2/catch.hpp>
#include <cstdio>

namespace paceline::tests {
namespace {

/// As the command line takes it for exactly this test.
std::string pattern_of(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (std::string_view("\\,[]\"*").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

/// Of "2/3"; nothing for what is no part.
std::vector<std::string> tests_of_part(const Catch::Config& config, const char* part) {
  int number = 0, parts = 0;
  if (std::sscanf(part, "%d/%d", &number, &parts) != 2 || number < 1 || number > parts) return {};
  // One text with commas: names one after another would have to hold for the same test.
  std::string any;
  int at = 0;
  for (const Catch::TestCase& test : Catch::getAllTestCasesSorted(config)) {
    if (!test.isHidden() && at++ % parts == number - 1) any += pattern_of(test.name) + ",";
  }
  return {any};
}

}  // namespace

int run_catch(std::vector<const char*> words, const std::string& tag) {
  const bool part = words.size() > 2 && std::string(words[1]) == "--part";
  const char* const which = part ? words[2] : "";
  if (part) words.erase(words.begin() + 1, words.begin() + 3);
  if (!tag.empty()) words.push_back(tag.c_str());
  Catch::Session session;
  const int problem = session.applyCommandLine(static_cast<int>(words.size()), words.data());
  if (problem != 0) return problem;
  if (part) {
    session.configData().testsOrTags = tests_of_part(Catch::Config(session.configData()), which);
    if (session.configData().testsOrTags.empty()) return 2;
    session.configData().warnings = Catch::WarnAbout::NoTests;  // and fail
  }
  return session.run() == 0 ? 0 : 1;
}

}  // namespace paceline::tests
