// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "models/cost/memory.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/lower.hpp"
#include "sim/lower/pass_role.hpp"
#include "sim/measure.hpp"
#include "sim/predict.hpp"
#include "sim/schedules/schedule.hpp"

using namespace paceline;

namespace {

struct Layout {
  std::string stack = "generic";
  int tp = 1, pp = 1, cp = 1, dp = 1, zero = 0, chunks = 1, nodes = 2;
  std::string schedule = "1f1b";
  std::string recompute = "none";
  std::string network = "hdr200";
};

models::Scenario small(const Layout& l) {
  const std::string text =
      "model: {hidden: 1024, layers: 16, heads: 16, ffn: 4096, vocab: 32000}\n"
      "cluster: {preset: dgx-a100, nodes: " +
      std::to_string(l.nodes) + ", network: " + l.network + "}\n" + "stack: " + l.stack + "\n" +
      "parallel: {tp: " + std::to_string(l.tp) + ", pp: " + std::to_string(l.pp) +
      ", cp: " + std::to_string(l.cp) + ", dp: " + std::to_string(l.dp) +
      ", zero: " + std::to_string(l.zero) + "}\n" + "schedule: {name: " + l.schedule +
      ", chunks: " + std::to_string(l.chunks) + "}\n" +
      "batch: {global: " + std::to_string(8 * l.dp) + ", micro: 1, sequence: 1024}\n" +
      "recompute: " + l.recompute + "\nattention: flash-2\n";
  return models::read_scenario(base::parse_yaml(text, "small.yaml"));
}

int chunks_of(std::string_view schedule) {
  const models::ScheduleTraits& traits = *models::schedule_traits(schedule);
  const bool free = (traits.takes & models::kTakesChunks) != 0 && traits.chunks == 1;
  return free ? 2 : traits.chunks;
}

std::vector<Layout> layouts() {
  std::vector<Layout> out;
  for (const sim::Schedule& schedule : sim::schedules()) {
    for (const char* stack : {"generic", "megatron-2021-04", "llm-foundry-2023", "nemo-25.02"}) {
      for (const int zero : {0, 1, 3}) {
        Layout l;
        l.stack = stack;
        l.zero = zero;
        l.schedule = schedule.name;
        l.tp = 2;
        l.pp = 2;
        l.dp = 2;
        l.chunks = chunks_of(schedule.name);
        if (std::string_view(stack) == "nemo-25.02")
          l.stack = "{name: nemo-25.02, attention: flash-2}";
        out.push_back(l);
        l.cp = 2;
        if (schedule.name != "roundpipe") l.recompute = "full";  // it does so by itself
        out.push_back(l);
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("a rank class and its members one by one take the same time", "[sim]") {
  for (const Layout& layout : layouts()) {
    const models::Scenario s = small(layout);
    const models::Plan plan = models::make_plan(s);
    const sim::Program program = sim::make_program(s, plan);
    const double folded = sim::run_reference(sim::lower(s, plan, program)).makespan;
    const sim::TaskGraph graph = sim::lower(s, plan, program, {true});
    INFO(layout.schedule << " " << layout.stack << " zero " << layout.zero << " cp " << layout.cp);
    REQUIRE(graph.lanes.size() == static_cast<std::size_t>(s.parallel.world_size()));
    CHECK(sim::run_reference(graph).makespan == Approx(folded).epsilon(1e-12));
  }
}

TEST_CASE("unfolded lanes stand for every rank once", "[sim]") {
  const models::Scenario s = small({.tp = 2, .pp = 2, .cp = 2, .dp = 2});
  const models::Plan plan = models::make_plan(s);
  const sim::TaskGraph graph = sim::lower(s, plan, sim::make_program(s, plan), {true});
  std::vector<int> ranks;
  for (const sim::Lane& lane : graph.lanes) {
    CHECK(lane.members == 1);
    ranks.push_back(lane.representative);
  }
  std::sort(ranks.begin(), ranks.end());
  for (int r = 0; r < s.parallel.world_size(); ++r) CHECK(ranks[static_cast<std::size_t>(r)] == r);
}

TEST_CASE("the breakdown adds up to the step time", "[sim]") {
  for (const Layout& layout : layouts()) {
    const sim::Prediction p = sim::predict(small(layout));
    const double sum = std::accumulate(p.result.breakdown.begin(), p.result.breakdown.end(), 0.0);
    INFO(layout.schedule << " " << layout.stack << " zero " << layout.zero << " cp " << layout.cp);
    CHECK(sum == Approx(p.result.step_time).epsilon(1e-9));
    for (const double part : p.result.breakdown) CHECK(part >= -1e-12);
  }
}

TEST_CASE("memory ends where it began and never goes negative", "[sim]") {
  for (const Layout& layout : layouts()) {
    const sim::Prediction p = sim::predict(small(layout));
    std::vector<std::array<double, sim::kMemoryParts>> now(p.graph.lanes.size());
    const auto apply = [&](std::uint32_t lane, const std::vector<sim::MemoryDelta>& deltas) {
      for (const sim::MemoryDelta& d : deltas) {
        double& bytes = now[lane][static_cast<std::size_t>(d.part)];
        bytes += d.bytes;
        CHECK(bytes >= -1e-3);
      }
    };
    double moved = 0;
    for (const sim::Task& task : p.graph.tasks) {
      apply(task.lane, p.graph.segments[task.segment].at_start);
      apply(task.lane, p.graph.segments[task.segment].at_finish);
      for (const auto& d : p.graph.segments[task.segment].at_start) moved += d.bytes;
    }
    CHECK(moved > 0);
    for (const auto& parts : now) {
      for (const double bytes : parts) CHECK(std::abs(bytes) < 1e-3);
    }
  }
}

TEST_CASE("in-flight activations are the schedule's published peak", "[sim]") {
  // 1F1B holds p - s microbatches on stage s (zero-bubble paper, section 2).
  const models::Scenario s = small({.pp = 4, .dp = 1});
  const sim::Prediction p = sim::predict(s);
  const double one = models::stage_memory(s, p.plan, p.plan.stages[1]).activation;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const double held =
        p.result.memory[rank].parts[static_cast<std::size_t>(sim::MemoryPart::Activations)];
    CHECK(held == Approx(one * static_cast<double>(4 - rank)));
  }
}

TEST_CASE("a faster network never makes a step slower", "[sim]") {
  for (const char* stack : {"megatron-2021-04", "generic"}) {
    for (const int zero : {0, 1}) {
      Layout slow{.stack = stack, .pp = 4, .dp = 4, .zero = zero, .network = "edr100"};
      Layout fast = slow;
      fast.network = "ndr400";
      CHECK(sim::predict(small(fast)).result.step_time <=
            sim::predict(small(slow)).result.step_time);
    }
  }
}

TEST_CASE("messages carry the activations and gradients of every stage boundary", "[sim]") {
  const models::Scenario s = small({.stack = "generic", .tp = 2, .pp = 4, .dp = 2});
  const sim::Prediction p = sim::predict(s);
  const double boundary = 2.0 * 1024 * 1024;  // 16-bit, microbatch of 1024 tokens, hidden 1024
  const double ranks_per_stage = 4;           // tp 2 and dp 2: each sends its own copy
  const double expected = boundary * 3 * p.plan.microbatches * ranks_per_stage;
  CHECK(p.result.traffic_bytes[static_cast<std::size_t>(sim::Stream::PpDown)] == Approx(expected));
  CHECK(p.result.traffic_bytes[static_cast<std::size_t>(sim::Stream::PpUp)] == Approx(expected));
}

TEST_CASE("data-parallel traffic is the closed form of its collectives", "[sim]") {
  const models::Scenario s = small({.stack = "megatron-2021-04", .dp = 8, .zero = 0});
  const sim::Prediction p = sim::predict(s);
  const double parameters = static_cast<double>(models::total_parameters(s.model));
  const double per_rank = 2 * 7.0 / 8.0 * 2 * parameters;  // all-reduce of fp16 gradients
  CHECK(p.result.traffic_bytes[static_cast<std::size_t>(sim::Stream::Dp)] ==
        Approx(8 * per_rank).epsilon(1e-3));
}

TEST_CASE("identical replicas cost nothing: 100,000 GPUs are one replica to simulate", "[sim]") {
  const sim::Prediction one = sim::predict(small({.pp = 4, .dp = 1, .nodes = 1}));
  const sim::Prediction many = sim::predict(small({.pp = 4, .dp = 25000, .nodes = 12500}));
  CHECK(many.graph.lanes.size() == one.graph.lanes.size());
  CHECK(many.result.step_time > one.result.step_time);
  CHECK(static_cast<double>(many.graph.tasks.size()) <
        3.0 * static_cast<double>(one.graph.tasks.size()));
}

TEST_CASE("doubling every given stage time doubles the pipeline", "[sim]") {
  const auto timed = [](double scale) {
    const std::string text =
        "model: {hidden: 1024, layers: 16, heads: 16, ffn: 4096, vocab: 32000}\n"
        "cluster: {preset: dgx-a100, nodes: 1}\nstack: {name: zero-bubble-2023, p2p_blocking: "
        "false, numbers: {microbatch_host: {value: 0 s, source: test}}}\n"
        "parallel: {pp: 8, dp: 1}\nbatch: {global: 32, micro: 1, sequence: 1024}\n"
        "costs: {forward: " +
        std::to_string(10 * scale) + " ms, input_gradient: " + std::to_string(12 * scale) +
        " ms, weight_gradient: " + std::to_string(8 * scale) +
        " ms, hop: " + std::to_string(scale) + " ms}\n";
    const sim::Prediction p =
        sim::predict(models::read_scenario(base::parse_yaml(text, "timed.yaml")));
    double last = 0;
    for (sim::TaskId t = 0; t < p.graph.tasks.size(); ++t) {
      if (p.graph.tasks[t].kind == sim::TaskKind::Action)
        last = std::max(last, p.timeline.finish[t]);
    }
    return last;
  };
  CHECK(timed(2) == Approx(2 * timed(1)));
}

namespace {

/// Two stages on two ranks, a microbatch in `slices`, with the backward whole or split.
sim::Program two_stages(int slices, bool split) {
  const std::string text = "program stages=2 microbatches=8 slices=" + std::to_string(slices) +
                           "\npass F down slices down\n" +
                           (split ? "pass B up reads F slices up\npass W local reads B frees F\n"
                                  : "pass BW up reads F frees F slices up\n");
  std::string ranks[2] = {"rank 0:", "rank 1:"};
  for (int m = 0; m < 8; ++m) {
    for (int r = 0; r < 2; ++r) {
      const std::string stage = " " + std::to_string(r);
      const auto at = [&](int slice) { return std::to_string(m) + "." + std::to_string(slice); };
      for (int k = 0; k < slices; ++k) ranks[r] += stage + "F" + at(k);
      for (int k = slices; k-- > 0;) {
        ranks[r] += stage + (split ? "B" : "BW") + at(k);
        if (split) ranks[r] += stage + "W" + at(k);
      }
    }
  }
  return sim::parse_program(text + ranks[0] + "\n" + ranks[1] + "\n", "two.txt");
}

struct Sums {
  double seconds = 0, flops = 0;
};
Sums compute_of(const models::Scenario& s, const sim::Program& program) {
  const sim::TaskGraph graph = sim::lower(s, models::make_plan(s), program);
  Sums sums;
  for (const sim::Task& task : graph.tasks) {
    if (task.stream != sim::Stream::Compute || task.kind == sim::TaskKind::Optimizer) continue;
    sums.seconds += task.seconds;
    sums.flops += graph.segments[task.segment].flops;
  }
  return sums;
}

}  // namespace

TEST_CASE("the halves of a backward are the work of the whole", "[sim]") {
  for (const Layout& layout : {Layout{.pp = 2}, Layout{.tp = 4, .pp = 2, .recompute = "full"}}) {
    const models::Scenario s = small(layout);
    const Sums whole = compute_of(s, two_stages(1, false)),
               halves = compute_of(s, two_stages(1, true));
    CHECK(halves.flops == Approx(whole.flops).epsilon(1e-12));
    // Exposed more where a reduction ran beside the weight gradient, never less.
    CHECK(halves.seconds >= whole.seconds * (1 - 1e-12));
    CHECK(halves.seconds < 1.2 * whole.seconds);
  }
}

TEST_CASE("slices of a sequence add up to its arithmetic, and cost more time", "[sim]") {
  const models::Scenario s = small({.pp = 2});
  const Sums whole = compute_of(s, two_stages(1, false));
  for (const int slices : {2, 4, 8}) {
    const Sums cut = compute_of(s, two_stages(slices, false));
    CHECK(cut.flops == Approx(whole.flops).epsilon(1e-12));
    CHECK(cut.seconds > whole.seconds);
  }
}

TEST_CASE("a split backward frees a part of the activations before the rest", "[sim]") {
  const models::Scenario s = small({.pp = 2});
  const models::Plan plan = models::make_plan(s);
  const models::StageMemory memory = models::stage_memory(s, plan, plan.stages[0]);
  CHECK(memory.kept_for_weights > 0);
  // 32 of 34 s b h bytes a layer, less than all with dropout's masks and the statistics of flash.
  CHECK(memory.kept_for_weights < memory.activation);
  const sim::TaskGraph graph = sim::lower(s, plan, two_stages(1, true));
  const auto peaks = sim::replay_memory(graph, sim::run_reference(graph));
  const double held = peaks[0].parts[static_cast<std::size_t>(sim::MemoryPart::Activations)];
  CHECK(held == Approx(memory.activation));
}

TEST_CASE("many updates of a stage share one kind of work", "[sim]") {
  const models::Scenario few = small({.pp = 2, .dp = 2, .schedule = "pipedream"});
  const models::Plan plan = models::make_plan(few);
  const sim::TaskGraph graph = sim::lower(few, plan, sim::make_program(few, plan));
  CHECK(graph.tasks.size() > 100);
  CHECK(graph.segments.size() < 40);
}
