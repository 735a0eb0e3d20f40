// SPDX-License-Identifier: Apache-2.0
#include "cli/processes.hpp"

#include <fstream>
#include <string>
#include <vector>

#include "kernels/collective/ranks.hpp"
#include "kernels/collective/world.hpp"

namespace paceline::cli {

std::optional<int> start_ranks(int ranks, const kernels::Backend& backend) {
  kernels::require_world(backend, ranks);
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return kernels::start_ranks(ranks, argv);
}

}  // namespace paceline::cli
