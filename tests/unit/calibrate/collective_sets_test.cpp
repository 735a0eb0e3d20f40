// SPDX-License-Identifier: Apache-2.0
#include "calibrate/collective_sets.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "base/config.hpp"
#include "base/error.hpp"

using namespace paceline;
using namespace paceline::calibrate;
using namespace paceline::models;

namespace {

const std::vector<CollectiveSetResult>& results() {
  static const auto kResults =
      validate_collectives(PACELINE_SOURCE "/scenarios/published/nccl/sets.yaml");
  return kResults;
}

template <class Keep>
std::array<std::vector<CollectiveRow>, kCollectiveBands> pool(Keep keep) {
  std::array<std::vector<CollectiveRow>, kCollectiveBands> bands;
  for (const CollectiveSetResult& r : results())
    if (keep(r))
      for (const CollectiveRow& row : r.rows) bands[collective_band(row.size)].push_back(row);
  return bands;
}

CollectiveGroup inside(int ranks, const Link& link, const char* generation) {
  CollectiveGroup g;
  g.ranks = g.per_domain = ranks;
  g.intra = &link;
  g.generation = generation;
  return g;
}

}  // namespace

TEST_CASE("the white box stays within its bounds on all class a logs", "[calibrate][collective]") {
  int bounds = 0;
  for (const CollectiveBound& b : collective_bounds(results())) {
    if (b.model != CollectiveModel::WhiteBox) continue;
    ++bounds;
    INFO(collective_band_name(b.band) << ": " << b.error.median << " / " << b.error.p90);
    CHECK(b.error.points > 5);
    CHECK(b.met());
  }
  CHECK(bounds == 4);
  std::vector<CollectiveSetResult> worse = results();
  for (CollectiveSetResult& r : worse)
    for (CollectiveRow& row : r.rows) row.white_box *= 1.25;
  CHECK_FALSE(collectives_within_bounds(worse));
}

TEST_CASE("the white box stays within its bounds on held-out class a logs",
          "[calibrate][collective]") {
  const auto bands = pool(
      [](const CollectiveSetResult& r) { return r.trust == CollectiveClass::A && r.held_out; });
  const double median[] = {0.15, 0.15, 0.15, 0.05}, p90[] = {0.35, 0.35, 0.50, 0.15};
  for (std::size_t b = 0; b < kCollectiveBands; ++b) {
    const CollectiveError e = collective_error(bands[b], CollectiveModel::WhiteBox);
    INFO(collective_band_name(b) << ": " << e.median << " / " << e.p90);
    CHECK(e.points >= 3);
    CHECK(e.median <= median[b]);
    CHECK(e.p90 <= p90[b]);
  }
}

TEST_CASE("slow fabrics stay within a factor of 2.5, large messages closer",
          "[calibrate][collective]") {
  const auto b = pool([](const CollectiveSetResult& r) { return r.trust == CollectiveClass::B; });
  for (const std::size_t band : {0u, 1u, 2u})
    CHECK(collective_error(b[band], CollectiveModel::WhiteBox).p90 <= 1.5);
  CHECK(collective_error(b[3], CollectiveModel::WhiteBox).median <= 0.20);
  CHECK(collective_error(b[3], CollectiveModel::WhiteBox).p90 <= 0.65);
  const auto c = pool([](const CollectiveSetResult& r) { return r.trust == CollectiveClass::C; });
  CHECK(collective_error(c[3], CollectiveModel::WhiteBox).p90 <= 2.0);
}

TEST_CASE("a table repeats its own log and predicts other logs of the link",
          "[calibrate][collective]") {
  const auto own = pool([](const CollectiveSetResult& r) { return r.table_itself; });
  const double own_median[] = {0.01, 0.01, 0.01, 0.005}, own_p90[] = {0.30, 0.05, 0.05, 0.01};
  for (std::size_t b = 0; b < kCollectiveBands; ++b) {
    const CollectiveError e = collective_error(own[b], CollectiveModel::Table);
    INFO(collective_band_name(b) << ": " << e.median << " / " << e.p90);
    CHECK(e.median <= own_median[b]);
    CHECK(e.p90 <= own_p90[b]);  // up to 64 KiB the two spikes of one log of 14 points
  }
  const auto other =
      pool([](const CollectiveSetResult& r) { return r.tabulated && !r.table_itself; });
  const CollectiveError large = collective_error(other[3], CollectiveModel::Table);
  CHECK(large.median <= 0.02);
  CHECK(large.p90 <= 0.08);
}

TEST_CASE("one hop constant gives the three p3dn sizes", "[calibrate][collective]") {
  int sets = 0;
  for (const CollectiveSetResult& r : results())
    if (r.name.find("p3dn") != std::string::npos) {
      ++sets;
      CHECK(collective_errors(r.rows, CollectiveModel::WhiteBox)[0].median < 0.03);
    }
  CHECK(sets == 3);
}

TEST_CASE("NVLS and ring rates over the number of ranks match the published ones",
          "[calibrate][collective]") {
  // stas00/ml-engineering, network/README.md: busbw of an 8 GiB all_reduce, GB/s.
  const double nvls[] = {414.2, 435.6, 460.0, 473.1}, ring[] = {363.3, 364.4, 365.1, 365.7, 365.6};
  const Link link = read_link("nvlink4-nvswitch");
  const double bytes = 8 * 1073741824.0;
  const auto busbw = [&](int n, const char* release) {
    const double t = white_box_time(CollectiveOp::AllReduce, base::Bytes(bytes),
                                    inside(n, link, "hopper"), nccl_release(release))
                         .time.value;
    return 2 * (n - 1.0) / n * bytes / t / 1e9;
  };
  for (int n = 5; n <= 8; ++n) CHECK(busbw(n, "2.21") == Approx(nvls[n - 5]).epsilon(0.03));
  for (int n = 4; n <= 8; ++n) CHECK(busbw(n, "2.12") == Approx(ring[n - 4]).epsilon(0.03));
}

TEST_CASE("a size is predicted from the others of its log, a log from others of its node",
          "[calibrate][collective]") {
  // physics bounds of the 90th percentiles; the medians are bounded by `validate nccl` itself.
  const double p90[] = {0.10, 0.12, 0.15, 0.08};
  int carried = 0, spikes = 0;
  for (const CollectiveBound& b : collective_bounds(results())) {
    INFO(to_text(b.model) << " " << collective_band_name(b.band) << ": " << b.error.median << " / "
                          << b.error.p90 << " of " << b.error.points);
    CHECK(b.error.points > 5);
    if (b.model == CollectiveModel::LeftOut) CHECK(b.error.p90 <= p90[b.band]);
    carried += b.model == CollectiveModel::Carried;
  }
  CHECK(carried == 2);
  for (const CollectiveSetResult& r : results()) {
    spikes += r.spikes;
    CHECK_FALSE(r.rows.front().left_out.has_value());
    CHECK_FALSE(r.rows.back().left_out.has_value());
    // The row itself is no input of its prediction.
    if (r.node.empty())
      for (const CollectiveRow& row : r.rows) CHECK_FALSE(row.carried.has_value());
  }
  CHECK(spikes > 0);
}

TEST_CASE("errors are symmetric and quantiles interpolate", "[calibrate][collective]") {
  const auto row = [](double measured, double predicted) {
    CollectiveRow r;
    r.measured = base::Seconds(measured);
    r.white_box = r.predicted = base::Seconds(predicted);
    return r;
  };
  const CollectiveError e = collective_error({row(1, 2), row(2, 1)}, CollectiveModel::WhiteBox);
  CHECK(e.median == Approx(1));
  CHECK(e.p90 == Approx(1));
  CHECK(e.bias == Approx(0.25));
  CHECK(collective_error({row(1, 1), row(1, 1.5)}, CollectiveModel::Table).median == Approx(0.25));
  CHECK(collective_error({}, CollectiveModel::Table).points == 0);
}

TEST_CASE("the report names every set, its models and bounds", "[calibrate][collective]") {
  const std::string text = collective_report(results());
  for (const CollectiveSetResult& r : results()) CHECK(text.find(r.name) != std::string::npos);
  CHECK(text.find("class a, held out") != std::string::npos);
  CHECK(text.find("bound: one size left out") != std::string::npos);
  // The white box claims nothing about TCPX.
  const std::size_t line = text.find("ag-2x8-h100-a3high");
  CHECK(text.substr(line, text.find('\n', line) - line).find("no claim without a log") !=
        std::string::npos);
}

TEST_CASE("the JSON document holds every bound and its cases", "[calibrate][collective]") {
  const std::string text = collective_json(results(), "paceline validate nccl");
  const base::Document document = base::parse_json(text, "answer");
  CHECK(base::find_path(document.root, "schema")->text == "paceline-validate-1");
  const base::Value* suites = base::find_path(document.root, "suites");
  REQUIRE(suites != nullptr);
  CHECK(suites->items.size() == collective_bounds(results()).size());
  CHECK(base::find_path(document.root, "suites.0.name")->text == "nccl.white_box.le_64KiB");
  CHECK(base::find_path(document.root, "suites.0.cases.0.measured") != nullptr);
}

TEST_CASE("a missing or wrong set file is an error with its place", "[calibrate][collective]") {
  CHECK_THROWS_AS(validate_collectives("/nonexistent/sets.yaml"), base::Error);
}
