// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <string>

#include "sim/engine/maxmin.hpp"
#include "sim/lower/lower.hpp"
#include "sim/measure_network.hpp"
#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

/// Steps over several sites, on both sides of the engines: closed forms and shared wires.
using namespace paceline;

namespace {

struct Wan {
  int nodes_a = 1, nodes_b = 1;
  std::string down = "latency: 1 ms, bandwidth: 100 Gb/s";  ///< a to b
  std::string up = down;
  std::string parallel = "{tp: 8, pp: 2, dp: 1, sequence_parallel: true}";
  int batch = 1;
  bool tied = false;
};

models::Scenario over(const Wan& wan) {
  const auto site = [](const char* name, int nodes) {
    return std::string("{name: ") + name + ", nodes: " + std::to_string(nodes) + "}";
  };
  return tests::small_gpt(
      "cluster: {preset: dgx-a100, nodes: " + std::to_string(wan.nodes_a + wan.nodes_b) +
      ", fabric: {kind: sites, sites: [" + site("a", wan.nodes_a) + ", " + site("b", wan.nodes_b) +
      "], links: [{from: a, to: b, " + wan.down + "}, {from: b, to: a, " + wan.up +
      "}]}}\nparallel: " + wan.parallel + "\nbatch: {global: " + std::to_string(wan.batch) +
      ", micro: 1, sequence: 512}\nmodel: {tied: " + (wan.tied ? "true" : "false") + "}");
}

double alone(const Wan& wan) { return sim::predict(over(wan)).result.step_time; }

double shared(const Wan& wan) {
  const models::Scenario s = over(wan);
  const models::Plan plan = models::make_plan(s);
  return sim::run_max_min(sim::lower(s, plan, sim::make_program(s, plan), {.network = true}))
      .makespan;
}

}  // namespace

TEST_CASE("a message between sites takes its way's latency and line rate", "[network][sites]") {
  // One microbatch of 512 x 1024 x 2 bytes, an eighth from each of 8 devices at once, both ways.
  const Wan near, far{.down = "latency: 101 ms, bandwidth: 100 Gb/s", .up = near.up},
      narrow{.up = "latency: 1 ms, bandwidth: 1 Gb/s"};
  CHECK(alone(far) - alone(near) == Approx(0.1).epsilon(1e-6));
  const double bits = 512.0 * 1024 * 2 * 8;
  CHECK(alone(narrow) - alone(near) == Approx(bits / 1e9 - bits / 100e9).epsilon(1e-6));
  Wan tied = narrow;  // the embedding's gradients go both ways
  tied.tied = true;
  for (const Wan& wan : {near, far, narrow, tied}) {
    CHECK(shared(wan) == Approx(alone(wan)).epsilon(1e-9));
  }
}

TEST_CASE("the stage between sites pays, whichever it is", "[network][sites]") {
  const std::string slow = "latency: 1 s, bandwidth: 100 Gb/s";
  const std::string layout = "{tp: 8, pp: 2, dp: 4, sequence_parallel: true}";
  // The data-parallel group of the second stage crosses, then that of the first.
  for (const int nodes : {5, 3}) {
    const Wan wan{.nodes_a = nodes,
                  .nodes_b = 8 - nodes,
                  .down = slow,
                  .up = slow,
                  .parallel = layout,
                  .batch = 8};
    CAPTURE(nodes);
    CHECK(alone(wan) > 2);
    CHECK(shared(wan) > 2);
  }
}

TEST_CASE("a link that widens helps, one that narrows a little hardly hurts", "[network][sites]") {
  const std::string slow = "latency: 1 ms, bandwidth: 1 Gb/s";
  Wan wan{.down = slow, .up = slow, .parallel = "{tp: 8, dp: 2}", .batch = 16};
  const double before = shared(wan);
  wan.down = wan.up = slow + ", changes: [{at: 0 s, bandwidth: 100 Gb/s}]";
  const double wider = shared(wan);
  wan.down = wan.up = "latency: 1 ms, bandwidth: 100 Gb/s";
  const double wide = shared(wan);
  CHECK(wider < before / 10);
  CHECK(wider == Approx(wide).epsilon(0.01));
  wan.down = wan.up = wan.down + ", changes: [{at: 1 ms, bandwidth: 90 Gb/s}]";
  CHECK(shared(wan) >= wide);
  CHECK(shared(wan) <= wide * 1.12);
}

TEST_CASE("a slower slot never makes a step faster", "[network]") {
  const auto step = [](const std::string& rate) {
    const models::Scenario s = tests::scenario_of(
        "model: {hidden: 1024, layers: 16, heads: 16, ffn: 4096, vocab: 32000}\n"
        "cluster: {node: {device: a100-80gb-pcie, devices: 8, link: pcie4-x16, network: hdr200, "
        "ports: 2, host: amd, pcie: {switches: 2, sockets: 2, slot: {kind: pcie, bandwidth: " +
        rate +
        ", latency: 1 us}, root_port: pcie4-x16, socket_link: pcie4-x16}}, nodes: 2}\n"
        "parallel: {tp: 2, pp: 2, dp: 4, zero: 1, sequence_parallel: true}\n"
        "batch: {global: 16, micro: 1, sequence: 512}");
    const models::Plan plan = models::make_plan(s);
    return sim::run_max_min(sim::lower(s, plan, sim::make_program(s, plan), {.network = true}))
        .makespan;
  };
  CHECK(step("5 GB/s") >= step("26 GB/s"));
  CHECK(step("0.5 GB/s") > 2 * step("5 GB/s"));
}

TEST_CASE("what an engine does not look at is said", "[network][sites]") {
  Wan wan;
  wan.down += ", changes: [{at: 1 s, bandwidth: 1 Gb/s}]";
  const auto& warnings = sim::predict(over(wan)).result.warnings;
  CHECK(std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
    return warning.find("act only with --engine simgrid") != std::string::npos;
  }));
}
