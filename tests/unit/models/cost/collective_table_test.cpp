// SPDX-License-Identifier: Apache-2.0
#include "models/cost/collective_table.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"

using namespace paceline;
using namespace paceline::models;

namespace {

CollectiveTable parse(const std::string& curves) {
  return parse_collective_table(base::parse_yaml("links: [x]\ncurves:\n" + curves, "table.yaml"));
}

const std::string kEntry =
    "  - {op: all_reduce, ranks: 4, algorithm: ring, source: log, points_B_us: [[1000, 10], [4000, "
    "12]]}\n";

CollectiveGroup inside(int ranks, const Link& link, const CollectiveTable& table) {
  CollectiveGroup g;
  g.ranks = g.per_domain = ranks;
  g.intra = &link;
  g.generation = "ampere";
  g.table = &table;
  return g;
}

double us(CollectiveOp op, double mib, const CollectiveGroup& g, const char* release = "2.12") {
  return 1e6 * collective_time(op, base::Bytes(mib * 1048576), g, nccl_release(release)).time.value;
}

}  // namespace

TEST_CASE("every table of the specs can be read and meets its own points", "[models][collective]") {
  const auto names = spec_names("collective");
  REQUIRE(names.size() >= 4);
  for (const std::string& name : names) {
    const CollectiveTable table =
        parse_collective_table(base::read_document(spec_path("collective", name)));
    for (const CollectiveCurve& c : table.curves) {
      INFO(name << " " << to_text(c.op) << " " << c.ranks);
      CHECK(table.find(c.op, c.ranks) == &c);
      CHECK_FALSE(c.source.empty());
      CHECK(c.points.size() >= 5);
      for (const CurvePoint& p : c.points) {
        const bool spike = p.y > 1.15 * c.curve.at(p.x);
        if (!spike) CHECK(c.curve.at(p.x) == Approx(p.y).epsilon(0.1));
      }
    }
  }
}

TEST_CASE("a table is used inside one domain only", "[models][collective]") {
  const Link link = read_link("nvlink3-nvswitch"), ib = read_link("hdr200");
  const CollectiveTable table = read_collective_table(link, "ampere");
  CollectiveGroup g = inside(8, link, table);
  // VIA-Research/vTrain, trace/a100: 64 MiB on 8 A100 in 579.9 us.
  CHECK(us(CollectiveOp::AllReduce, 64, g) == Approx(579.9).epsilon(0.001));
  CHECK(
      collective_time(CollectiveOp::AllReduce, base::Bytes(1e8), g, nccl_release("2.12")).measured);
  g.network = &ib;
  g.domains = 2;
  g.ranks = 16;
  CHECK_FALSE(
      collective_time(CollectiveOp::AllReduce, base::Bytes(1e8), g, nccl_release("2.12")).measured);
  CHECK_FALSE(
      collective_time(CollectiveOp::AllToAll, base::Bytes(1e8), g, nccl_release("2.12")).measured);
}

TEST_CASE("gather and scatter on A100 are carried over from the all-reduce",
          "[models][collective]") {
  const Link link = read_link("nvlink3-nvswitch");
  const CollectiveTable table = read_collective_table(link, "ampere");
  for (const int ranks : {2, 4, 8})
    for (const double mib : {16.0, 48.0, 96.0, 200.0, 1000.0}) {
      const CollectiveGroup g = inside(ranks, link, table);
      const double share =
          us(CollectiveOp::AllGather, mib, g) / us(CollectiveOp::AllReduce, mib, g);
      INFO(ranks << " ranks, " << mib << " MiB");
      // Each moves half the bytes; fixed costs do not halve. The same shares as measured on H200:
      // 0.58 to 0.60 at 16 MiB, 0.52 to 0.53 at 256 MiB.
      CHECK(share >= 0.49);
      CHECK(share <= (mib < 32 ? 0.66 : mib < 100 ? 0.57 : 0.54));
      CHECK(table.find(CollectiveOp::AllGather, ranks)->derived);
    }
}

TEST_CASE("an in-switch curve never speaks for rings", "[models][collective]") {
  const Link link = read_link("nvlink4-nvswitch");
  const CollectiveTable table = read_collective_table(link, "hopper");
  REQUIRE(table.find(CollectiveOp::AllReduce, 6) != nullptr);
  CHECK(table.find(CollectiveOp::AllReduce, 6)->algorithm == CollectiveAlgorithm::Nvls);
  CHECK(table.find(CollectiveOp::AllReduce, 3)->algorithm == CollectiveAlgorithm::Ring);
  CollectiveGroup g = inside(8, link, table);
  g.generation = "hopper";
  // A release without NVLS runs the ring of the white box, a third slower.
  CHECK(us(CollectiveOp::AllReduce, 1024, g, "2.12") >
        1.25 * us(CollectiveOp::AllReduce, 1024, g, "2.21"));
}

TEST_CASE("a link without a table leaves the white box alone", "[models][collective]") {
  const Link link = read_link("pcie4-x16");
  const CollectiveTable table = read_collective_table(link, "ada");
  CHECK(table.curves.empty());
  CHECK(table.find(CollectiveOp::AllReduce, 4) == nullptr);
  const CollectiveGroup g = inside(4, link, table);
  CHECK_FALSE(
      collective_time(CollectiveOp::AllReduce, base::Bytes(1e8), g, nccl_release("2.18")).measured);
}

TEST_CASE("a wrong table is refused with its place", "[models][collective]") {
  CHECK(parse(kEntry).curves.size() == 1);
  CHECK_THROWS_WITH(parse(kEntry + kEntry), Catch::Contains("has a curve of this op already"));
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = kEntry;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  CHECK_THROWS_WITH(parse(with("all_reduce", "all_reduces")), Catch::Contains("all_reduce"));
  CHECK_THROWS_WITH(parse(with("ranks: 4", "ranks: 1")), Catch::Contains("table.yaml:3"));
  CHECK_THROWS_WITH(parse(with("[4000, 12]", "[4000]")), Catch::Contains("[bytes, microseconds]"));
  CHECK_THROWS_WITH(parse(with("[4000, 12]", "[4000, 0]")), Catch::Contains("above 0"));
  CHECK_THROWS_WITH(parse(with("[4000, 12]", "[4000, nan]")), Catch::Contains("table.yaml:3"));
  CHECK_THROWS_WITH(parse(with("[[1000, 10], [4000, 12]]", "[]")), Catch::Contains("is empty"));
  CHECK_THROWS_AS(parse(with("source: log, ", "")), base::Error);
  CHECK_THROWS_AS(parse(with("source: log", "sauce: log")), base::Error);
}
