// SPDX-License-Identifier: Apache-2.0
#include "models/context/documents.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

namespace paceline::models {
namespace {

Documents fixed(std::vector<std::int64_t> lengths, Packing packing) {
  Documents d;
  d.lengths = std::move(lengths);
  d.packing = packing;
  return d;
}

std::vector<std::vector<std::int64_t>> lengths_of(const std::vector<Window>& windows) {
  std::vector<std::vector<std::int64_t>> out;
  for (const Window& window : windows) {
    out.emplace_back();
    for (const Run& run : window) out.back().push_back(run.tokens());
  }
  return out;
}

bool same(const Window& a, const Window& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Run& x, const Run& y) {
    return x.document == y.document && x.begin == y.begin && x.end == y.end;
  });
}
bool same(const std::vector<Window>& a, const std::vector<Window>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Window& x, const Window& y) { return same(x, y); });
}

}  // namespace

TEST_CASE("documents are packed as their packing says") {
  using Lengths = std::vector<std::vector<std::int64_t>>;
  CHECK(lengths_of(sample_windows(fixed({60, 50, 30}, Packing::Sequential), 3, 100, 0)) ==
        Lengths{{60}, {50, 30}, {60}});
  CHECK(lengths_of(sample_windows(fixed({60, 50, 30}, Packing::FirstFit), 3, 100, 0)) ==
        Lengths{{60, 30}, {50, 50}, {60, 30}});
  const std::vector<Window> split = sample_windows(fixed({60, 50}, Packing::Split), 2, 100, 0);
  CHECK(lengths_of(split) == Lengths{{60, 40}, {10, 60, 30}});
  for (const Window& window : split)
    for (const Run& run : window) CHECK(run.begin == 0);
  const std::vector<Window> chunks = sample_windows(fixed({250}, Packing::Chunks), 3, 100, 0);
  CHECK(same(chunks[1], {{0, 100, 200}}));
  CHECK(same(earlier_of(chunks[1]), {{0, 0, 100}}));
  CHECK(same(chunks[2], {{0, 200, 250}, {1, 0, 50}}));
}

TEST_CASE("the chunks of a document have its area together") {
  std::int64_t sum = 0;
  for (const Window& window : sample_windows(fixed({1000}, Packing::Chunks), 10, 100, 0))
    sum += twice_area(window, {});
  CHECK(sum == 1000 * 1000);
}

TEST_CASE("sampled windows follow from the seed and the step, and hold what fits") {
  Documents d;
  d.kind = DocumentKind::Lognormal;
  d.median = 800;
  d.sigma = 1.2;
  d.longest = 4096;
  for (const Packing packing : {Packing::Sequential, Packing::FirstFit, Packing::Split}) {
    d.packing = packing;
    const std::vector<Window> once = sample_windows(d, 16, 4096, 3);
    CHECK(same(once, sample_windows(d, 16, 4096, 3)));
    CHECK(!same(once, sample_windows(d, 16, 4096, 4)));
    for (const Window& window : once) CHECK(tokens_of(window) <= 4096);
  }
  d.kind = DocumentKind::LongTail;
  d.shortest = 64;
  d.shape = 1.1;
  d.packing = Packing::Sequential;
  for (const Window& window : sample_windows(d, 64, 4096, 0)) {
    REQUIRE(!window.empty());
    for (const Run& run : window) CHECK((run.tokens() >= 64 && run.tokens() <= 4096));
  }
}

TEST_CASE("lognormal documents have their median") {
  Documents d;
  d.kind = DocumentKind::Lognormal;
  d.median = 1000;
  d.sigma = 1;
  d.longest = 1 << 20;
  std::vector<std::int64_t> lengths;
  for (const Window& window : sample_windows(d, 8, 1 << 20, 0))
    for (const Run& run : window) lengths.push_back(run.tokens());
  std::nth_element(lengths.begin(), lengths.begin() + std::ssize(lengths) / 2, lengths.end());
  CHECK(static_cast<double>(lengths[lengths.size() / 2]) == Approx(1000).epsilon(0.05));
}

}  // namespace paceline::models
