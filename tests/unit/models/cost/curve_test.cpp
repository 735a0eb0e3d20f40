// SPDX-License-Identifier: Apache-2.0
#include "models/cost/curve.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "base/error.hpp"

using namespace paceline;
using models::CurvePoint;
using models::MonotoneCurve;

namespace {

MonotoneCurve curve(std::vector<CurvePoint> points) { return MonotoneCurve(points); }

}  // namespace

TEST_CASE("a curve meets monotone points and stays at its ends", "[models][curve]") {
  const MonotoneCurve c = curve({{1, 2}, {10, 3}, {100, 50}, {1000, 400}});
  CHECK(c.at(1) == Approx(2));
  CHECK(c.at(10) == Approx(3));
  CHECK(c.at(100) == Approx(50));
  CHECK(c.at(1000) == Approx(400));
  CHECK(c.at(0.01) == Approx(2));
  CHECK(c.at(1e9) == Approx(400));
  CHECK(c.low() == Approx(1));
  CHECK(c.high() == Approx(1000));
}

TEST_CASE("a power law is reproduced between the points", "[models][curve]") {
  std::vector<CurvePoint> points;
  for (double x = 1; x < 1e6; x *= 8) points.push_back({x, 3 * std::pow(x, 0.7)});
  const MonotoneCurve c(points);
  for (double x = 1; x < points.back().x; x *= 1.37)
    CHECK(c.at(x) == Approx(3 * std::pow(x, 0.7)).epsilon(1e-9));
}

TEST_CASE("a curve never falls and never overshoots its neighbours", "[models][curve]") {
  const MonotoneCurve c = curve({{1, 5}, {2, 5}, {4, 5.1}, {8, 40}, {16, 41}, {32, 41}, {64, 300}});
  double last = 0;
  for (double x = 0.5; x < 100; x *= 1.01) {
    CHECK(c.at(x) >= last);
    last = c.at(x);
  }
  CHECK(c.at(6) <= 40);
  CHECK(c.at(24) == Approx(41).epsilon(1e-3));
}

TEST_CASE("the order of the points does not matter", "[models][curve]") {
  std::vector<CurvePoint> points{{1, 2}, {4, 7}, {4, 5}, {16, 6.5}, {64, 9}};
  const MonotoneCurve sorted(points);
  do {
    const MonotoneCurve other(points);
    for (double x = 1; x < 64; x *= 1.9) CHECK(other.at(x) == sorted.at(x));
  } while (std::next_permutation(
      points.begin(), points.end(),
      [](const CurvePoint& a, const CurvePoint& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; }));
}

TEST_CASE("a warm-up spike is cut, a small dip is averaged", "[models][curve]") {
  const MonotoneCurve spike = curve({{1, 13}, {2, 68}, {4, 14}, {8, 15}});
  CHECK(spike.at(2) == Approx(14).epsilon(0.01));
  const MonotoneCurve dip = curve({{1, 10}, {2, 20}, {4, 19}, {8, 40}});
  CHECK(dip.at(2) == Approx(std::sqrt(20.0 * 19)));
  CHECK(dip.at(4) == Approx(std::sqrt(20.0 * 19)));
}

TEST_CASE("one point makes a constant; bad points are refused", "[models][curve]") {
  CHECK(curve({{3, 7}}).at(100) == Approx(7));
  CHECK_THROWS_AS(curve({}), base::Error);
  CHECK_THROWS_AS(curve({{0, 1}}), base::Error);
  CHECK_THROWS_AS(curve({{1, -1}}), base::Error);
  CHECK_THROWS_AS(curve({{1, std::numeric_limits<double>::quiet_NaN()}}), base::Error);
}
