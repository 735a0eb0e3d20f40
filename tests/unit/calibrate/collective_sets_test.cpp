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

/// More than 15 % above a larger size: a warm-up spike, which no neighbour can predict.
bool spike(const CollectiveCurve& curve, std::size_t point) {
  for (const CurvePoint& p : curve.points)
    if (p.x > curve.points[point].x && curve.points[point].y > 1.15 * p.y) return true;
  return false;
}

/// Time of the curve without one point, against that point.
CollectiveRow left_out(const CollectiveCurve& curve, std::size_t point,
                       const CollectiveGroup& group) {
  CollectiveCurve rest = curve;
  rest.points.erase(rest.points.begin() + static_cast<std::ptrdiff_t>(point));
  rest.curve = MonotoneCurve(rest.points);
  rest.low = base::Bytes(rest.curve.low());
  rest.high = base::Bytes(rest.curve.high());
  CollectiveRow row;
  row.size = base::Bytes(curve.points[point].x);
  row.measured = base::Seconds(curve.points[point].y);
  row.predicted = table_time(rest, row.size, group, nccl_release("2.21")).time;
  return row;
}

}  // namespace

TEST_CASE("the white box stays within its bounds on all class a logs", "[calibrate][collective]") {
  CHECK(collectives_within_bounds(results()));
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
    const CollectiveError e = collective_error(bands[b], false);
    INFO(collective_band_name(b) << ": " << e.median << " / " << e.p90);
    CHECK(e.points >= 3);
    CHECK(e.median <= median[b]);
    CHECK(e.p90 <= p90[b]);
  }
}

TEST_CASE("slow fabrics stay within a factor of 2.5, large messages closer",
          "[calibrate][collective]") {
  const auto b = pool([](const CollectiveSetResult& r) { return r.trust == CollectiveClass::B; });
  for (const std::size_t band : {0u, 1u, 2u}) CHECK(collective_error(b[band], false).p90 <= 1.5);
  CHECK(collective_error(b[3], false).median <= 0.20);
  CHECK(collective_error(b[3], false).p90 <= 0.65);
  const auto c = pool([](const CollectiveSetResult& r) { return r.trust == CollectiveClass::C; });
  CHECK(collective_error(c[3], false).p90 <= 2.0);
}

TEST_CASE("a table repeats its own log and predicts other logs of the link",
          "[calibrate][collective]") {
  const auto own = pool([](const CollectiveSetResult& r) { return r.table_itself; });
  const double own_median[] = {0.01, 0.01, 0.01, 0.005}, own_p90[] = {0.30, 0.05, 0.05, 0.01};
  for (std::size_t b = 0; b < kCollectiveBands; ++b) {
    const CollectiveError e = collective_error(own[b], true);
    INFO(collective_band_name(b) << ": " << e.median << " / " << e.p90);
    CHECK(e.median <= own_median[b]);
    CHECK(e.p90 <= own_p90[b]);  // up to 64 KiB the two spikes of one log of 14 points
  }
  const auto other =
      pool([](const CollectiveSetResult& r) { return r.tabulated && !r.table_itself; });
  const CollectiveError large = collective_error(other[3], true);
  CHECK(large.median <= 0.02);
  CHECK(large.p90 <= 0.08);
}

TEST_CASE("one hop constant gives the three p3dn sizes", "[calibrate][collective]") {
  int sets = 0;
  for (const CollectiveSetResult& r : results())
    if (r.name.find("p3dn") != std::string::npos) {
      ++sets;
      CHECK(r.white_box[0].median < 0.03);
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

TEST_CASE("a size left out of a table is predicted from its neighbours",
          "[calibrate][collective]") {
  struct Source {
    const char *link, *generation;
  };
  std::array<std::vector<CollectiveRow>, kCollectiveBands> interior, all;
  for (const Source& s : {Source{"nvlink2", "volta"}, Source{"nvlink3-nvswitch", "ampere"},
                          Source{"nvlink4-nvswitch", "hopper"}}) {
    const Link link = read_link(s.link);
    const CollectiveTable table = read_collective_table(link, s.generation);
    for (const CollectiveCurve& c : table.curves) {
      if (c.derived) continue;
      const CollectiveGroup group = inside(c.ranks, link, s.generation);
      for (std::size_t i = 0; i < c.points.size(); ++i) {
        if (spike(c, i)) continue;
        const CollectiveRow row = left_out(c, i, group);
        all[collective_band(row.size)].push_back(row);
        if (i > 0 && i + 1 < c.points.size()) interior[collective_band(row.size)].push_back(row);
      }
    }
  }
  const double median[] = {0.02, 0.04, 0.04, 0.01}, p90[] = {0.10, 0.12, 0.15, 0.08};
  const double study[] = {0.025, 0.046, 0.049, 0.017};
  for (std::size_t b = 0; b < kCollectiveBands; ++b) {
    const CollectiveError e = collective_error(interior[b], true);
    INFO(collective_band_name(b) << ": " << e.median << " / " << e.p90 << " of " << e.points);
    CHECK(e.median <= median[b]);
    CHECK(e.p90 <= p90[b]);
    CHECK(collective_error(all[b], true).median <= study[b]);
  }
}

TEST_CASE("errors are symmetric and quantiles interpolate", "[calibrate][collective]") {
  const auto row = [](double measured, double predicted) {
    CollectiveRow r;
    r.measured = base::Seconds(measured);
    r.white_box = r.predicted = base::Seconds(predicted);
    return r;
  };
  const CollectiveError e = collective_error({row(1, 2), row(2, 1)}, false);
  CHECK(e.median == Approx(1));
  CHECK(e.p90 == Approx(1));
  CHECK(e.bias == Approx(0.25));
  CHECK(collective_error({row(1, 1), row(1, 1.5)}, true).median == Approx(0.25));
  CHECK(collective_error({}, true).points == 0);
}

TEST_CASE("the report names every set and pools the classes", "[calibrate][collective]") {
  const std::string text = collective_report(results());
  for (const CollectiveSetResult& r : results()) CHECK(text.find(r.name) != std::string::npos);
  CHECK(text.find("class a, held out") != std::string::npos);
}

TEST_CASE("a missing or wrong set file is an error with its place", "[calibrate][collective]") {
  CHECK_THROWS_AS(validate_collectives("/nonexistent/sets.yaml"), base::Error);
}
