// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>

#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::sim;

namespace {

MemoryPeak peak_of_a_million(int nodes, int cp) {
  return predict(tests::scenario_of(
                     "model: {preset: llama-3-8b}\ncluster: {preset: dgx-h100, nodes: " +
                     std::to_string(nodes) +
                     "}\nstack: nemo-25.02\nparallel: {tp: 4, cp: " + std::to_string(cp) +
                     ", dp: 1, zero: 1, sequence_parallel: true}\nbatch: {global: 1, sequence: "
                     "1048576}\nrecompute: full\n"))
      .result.memory.front();
}

}  // namespace

TEST_CASE("a million tokens on 16 H100 break at the logits, on 32 they fit") {
  const MemoryPeak broken = peak_of_a_million(2, 4);
  CHECK_FALSE(broken.fits());
  const auto largest = std::max_element(broken.parts.begin(), broken.parts.end());
  CHECK(static_cast<MemoryPart>(largest - broken.parts.begin()) == MemoryPart::Logits);
  const MemoryPeak fits = peak_of_a_million(4, 8);
  CHECK(fits.fits());
  // Everything a token leaves behind is halved by twice the ranks of its sequence.
  for (const MemoryPart part : {MemoryPart::Logits, MemoryPart::Activations}) {
    const auto i = static_cast<std::size_t>(part);
    CHECK(fits.parts[i] == Approx(broken.parts[i] / 2));
  }
}
