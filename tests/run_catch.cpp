// SPDX-License-Identifier: Apache-2.0
#define CATCH_CONFIG_RUNNER
#include "tests/run_catch.hpp"

#include <catch2/catch.hpp>

namespace paceline::tests {

int run_catch(std::vector<const char*> words, const std::string& tag) {
  if (!tag.empty()) words.push_back(tag.c_str());
  Catch::Session session;
  const int problem = session.applyCommandLine(static_cast<int>(words.size()), words.data());
  if (problem != 0) return problem;
  return session.run() == 0 ? 0 : 1;
}

}  // namespace paceline::tests
