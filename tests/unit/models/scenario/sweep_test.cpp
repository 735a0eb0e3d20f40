// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/sweep.hpp"

#include <catch2/catch.hpp>

#include "models/scenario/scenario.hpp"

using namespace paceline;
using models::parse_axis;
using models::Sweep;
using models::SweepAxis;

namespace {

constexpr const char* kBase =
    "model: {preset: gpt2}\n"
    "cluster: {preset: dgx-h100, nodes: 1}\n"
    "batch: {global: 64, micro: 1, sequence: 1024}\n";

Sweep sweep_of(const std::vector<std::string>& over, bool zip = false,
               const std::string& text = kBase) {
  std::vector<SweepAxis> axes;
  for (const std::string& axis : over) axes.push_back(parse_axis(axis));
  return models::make_sweep(base::parse_yaml(text, "base.yaml"), std::move(axes), zip);
}

/// What is said before anything runs; "" when nothing is.
std::string complaint(const std::vector<std::string>& over, bool zip = false,
                      const std::string& text = kBase) {
  try {
    models::check_sweep(sweep_of(over, zip, text));
  } catch (const base::Error& error) {
    return error.what();
  }
  return "";
}

using Catch::Matchers::Contains;

}  // namespace

TEST_CASE("a list of values keeps brackets, braces and quotes together", "[models][sweep]") {
  CHECK(parse_axis("a.b=1, 2,\n 4").values == std::vector<std::string>{"1", "2", "4"});
  CHECK(parse_axis("a=[1,2],[3]").values == std::vector<std::string>{"[1,2]", "[3]"});
  CHECK(parse_axis("a={x: 1, y: [2,3]},z").values ==
        std::vector<std::string>{"{x: 1, y: [2,3]}", "z"});
  CHECK(parse_axis("a=\"1,2\",'3,\"4'").values == std::vector<std::string>{"\"1,2\"", "'3,\"4'"});
  CHECK(parse_axis("a=x=1").values == std::vector<std::string>{"x=1"});
}

TEST_CASE("points are crossed with the last axis fastest, or zipped", "[models][sweep]") {
  const Sweep crossed = sweep_of({"parallel.tp=1,2,4", "batch.micro=1,2"});
  REQUIRE(crossed.points == 6);
  CHECK(models::point_settings(crossed, 0) ==
        std::vector<std::string>{"parallel.tp=1", "batch.micro=1"});
  CHECK(models::point_settings(crossed, 1) ==
        std::vector<std::string>{"parallel.tp=1", "batch.micro=2"});
  CHECK(models::point_settings(crossed, 5) ==
        std::vector<std::string>{"parallel.tp=4", "batch.micro=2"});
  const Sweep zipped = sweep_of({"parallel.tp=1,2,4", "batch.micro=4,2,1"}, true);
  REQUIRE(zipped.points == 3);
  CHECK(models::point_values(zipped, 1) == std::vector<std::string>{"2", "2"});
}

TEST_CASE("a point is the scenario that run --set makes", "[models][sweep]") {
  const Sweep sweep = sweep_of({"parallel.tp=1,2", "parallel.zero=0,3"});
  base::Document set = base::parse_yaml(kBase, "base.yaml");
  base::set_path(set, "parallel.tp", "2");
  base::set_path(set, "parallel.zero", "0");
  CHECK(models::read_scenario(models::point_document(sweep, 2)).hash ==
        models::read_scenario(set).hash);
}

TEST_CASE("malformed lists are one error that says what would be right", "[models][sweep]") {
  std::string many = "batch.global=";
  for (int i = 1; i <= 1001; ++i) many += (i > 1 ? "," : "") + std::to_string(i);
  const std::string others = "batch.sequence=" + many.substr(many.find('=') + 1);
  const std::pair<std::vector<std::string>, const char*> cases[] = {
      {{}, "nothing varies"},
      {{"parallel.tp"}, "is no path=a,b,c"},
      {{"=1,2"}, "is no path=a,b,c"},
      {{"parallel.tp="}, "an empty value"},
      {{"parallel.tp=1,,2"}, "an empty value"},
      {{"parallel.tp=1,2,"}, "null takes the key out"},
      {{"parallel.tp=1,2,1"}, "twice"},
      {{"parallel.tp=1,2", "parallel.tp=4"}, "is given twice"},
      {{"parallel.tp=1,2", "parallel={pp: 2}"}, "change the same values"},
      {{"parallel.tp=[1,2"}, "--over parallel.tp"},
      {{"parallel..tp=1"}, "not a path"},
      {{"batch.global.x=1"}, "neither a map nor a list"},
      {{many, others}, "more than 1000000 points"},
  };
  for (const auto& [over, expected] : cases) {
    INFO(expected);
    CHECK_THAT(complaint(over), Contains(expected));
  }
  CHECK_THAT(complaint({"parallel.tp=1,2", "batch.micro=1"}, true), Contains("equal length"));
}

TEST_CASE("a path that no point knows is one error before anything runs", "[models][sweep]") {
  CHECK_THAT(complaint({"parallel.tpp=1,2"}),
             Contains("--over parallel.tpp: unknown key; did you mean 'tp'?"));
  CHECK_THAT(complaint({"parallell.tp=1,2"}), Contains("--over parallell: unknown key"));
  // Also where every value of another axis is wrong.
  CHECK_THAT(complaint({"batch.micro=-1,0", "modle.x=1"}), Contains("--over modle: unknown key"));
  CHECK(complaint({"parallel.tp=3,5"}).empty());  // bad values are rows
  CHECK(complaint({"parallel.tp=3,2"}).empty());
}

TEST_CASE("a path that only some points know is not an error", "[models][sweep]") {
  CHECK(complaint({"cluster.fabric.kind=switch,fat-tree", "cluster.fabric.nodes_per_leaf=1"})
            .empty());
  // Infeasible for another reason, yet known.
  CHECK(complaint({"cluster.fabric.kind=switch,fat-tree", "cluster.fabric.nodes_per_leaf=1",
                   "parallel.tp=3"})
            .empty());
}

TEST_CASE("values may complete a scenario; what no value mends is an error", "[models][sweep]") {
  const std::string open = "model: {preset: gpt2}\ncluster: {preset: dgx-h100, nodes: 1}\n";
  CHECK(complaint({"batch.global=8,16", "batch.sequence=1024"}, false, open).empty());
  CHECK_THAT(complaint({"parallel.tp=1,2"}, false, open), Contains("batch: is missing"));
  CHECK_THAT(complaint({"parallel.tp=1,2"}, false, std::string(kBase) + "colour: red\n"),
             Contains("base.yaml:4:1: colour: unknown key"));
}
