// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/point_choice.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "base/error.hpp"
#include "models/scenario/condition.hpp"

using namespace paceline;
using models::PointChoice;

namespace {

bool meets(const char* condition) {
  return models::holds(condition, [](const std::string& name) -> std::string {
    if (name == "tp" || name == "parallel.tp") return "4";
    if (name == "pp") return "2";
    if (name == "recompute") return "full";
    throw base::Error("--where", "unknown name");
  });
}

models::Sweep grid_of(std::size_t most = models::kMaxSweepPoints) {
  return models::make_sweep(
      base::parse_yaml("batch: {global: 8}\nname: x\n", "a.yaml"),
      {models::parse_axis("parallel.tp=1,2,4,8"), models::parse_axis("parallel.pp=1,2,4,8"),
       models::parse_axis("batch.micro=1,2,3,4,5")},
      false, most);
}

}  // namespace

TEST_CASE("conditions compare sums, products and texts", "[models]") {
  CHECK(meets("tp*pp<=8"));
  CHECK_FALSE(meets("tp*pp < 8"));
  CHECK(meets("parallel.tp / 2 - pp == 0 and recompute == 'full'"));
  CHECK(meets("not (tp > 4 or pp > 4)"));
  CHECK(meets("(tp + pp) % 4 == 2 && recompute != \"none\""));
  CHECK(meets("tp == 1 or tp == 4"));
  CHECK(meets("-tp < 0"));
  CHECK(meets("1e1 > tp"));
}

TEST_CASE("what is no condition is refused with its place", "[models]") {
  for (const char* text :
       {"", "tp", "tp <", "tp <= 8)", "(tp <= 8", "tp <= 'a", "tp * recompute > 1", "tp = 4",
        "zp == 1", "tp == 4 5", "nan < 1", "orange"}) {
    INFO(text);
    CHECK_THROWS_AS(meets(text), base::Error);
  }
  CHECK_THROWS_AS(meets((std::string(200, '(') + "1<2" + std::string(200, ')')).c_str()),
                  base::Error);
  CHECK_THROWS_AS(meets((std::string(200, '-') + "1<2").c_str()), base::Error);
}

TEST_CASE("conditions keep the points of the grid that meet them, in its order", "[models]") {
  models::Sweep sweep = grid_of();
  PointChoice choice;
  choice.where = {"tp*pp == 8", "micro <= batch.global / 4"};
  models::choose_points(sweep, choice);
  REQUIRE(sweep.points == 8);
  CHECK(models::point_values(sweep, 0) == std::vector<std::string>{"1", "8", "1"});
  CHECK(models::point_values(sweep, 7) == std::vector<std::string>{"8", "1", "2"});
  choice.where = {"tp > 8"};
  models::Sweep none = grid_of();
  CHECK_THROWS_AS(models::choose_points(none, choice), base::Error);
}

TEST_CASE("random samples are different points, the same for a seed", "[models]") {
  PointChoice choice = models::parse_sample("random:30");
  models::Sweep one = grid_of(), two = grid_of(), three = grid_of();
  models::choose_points(one, choice);
  models::choose_points(two, choice);
  choice.seed = 2;
  models::choose_points(three, choice);
  CHECK(one.points == 30);
  CHECK(std::set<std::size_t>(one.chosen.begin(), one.chosen.end()).size() == 30);
  CHECK(one.chosen == two.chosen);
  CHECK(one.chosen != three.chosen);
}

TEST_CASE("a Latin hypercube takes every value of an axis equally often", "[models]") {
  models::Sweep sweep = grid_of();
  models::choose_points(sweep, models::parse_sample("latin:20"));
  CHECK(sweep.points > 15);  // two that coincide are one
  std::map<std::string, int> times;
  for (std::size_t p = 0; p < sweep.points; ++p) ++times[models::point_values(sweep, p)[0]];
  CHECK(times.size() == 4);
  for (const auto& [value, count] : times) CHECK(count <= 5);
  CHECK_THROWS_AS(models::parse_sample("latin"), base::Error);
  CHECK_THROWS_AS(models::parse_sample("sobol:5"), base::Error);
  CHECK_THROWS_AS(models::parse_sample("latin:0"), base::Error);
}

TEST_CASE("samples come from grids too large to run", "[models]") {
  std::vector<models::SweepAxis> axes;
  for (int a = 0; a < 8; ++a)
    axes.push_back(models::parse_axis("k" + std::to_string(a) + "=1,2,3,4,5,6,7,8,9,10"));
  const base::Document document = base::parse_yaml("name: x\n", "a.yaml");
  CHECK_THROWS_AS(models::make_sweep(document, axes, false), base::Error);
  models::Sweep sweep = models::make_sweep(document, axes, false, models::kMaxSampledGrid);
  models::choose_points(sweep, models::parse_sample("latin:50"));
  CHECK(sweep.points == 50);
}
