// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "models/cost/memory.hpp"
#include "sim/measure.hpp"
#include "sim/predict.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using namespace paceline::sim;
using tests::small_gpt;

namespace {

double of_stream(const Prediction& p, std::string_view name, Stream stream) {
  double sum = 0;
  for (TaskId t = 0; t < p.graph.tasks.size(); ++t)
    if (p.graph.tasks[t].stream == stream &&
        p.graph.segments[p.graph.tasks[t].segment].name == name)
      sum += p.timeline.finish[t] - p.timeline.start[t];
  return sum;
}

double trained(const Prediction& p) {
  const models::Scenario s = small_gpt();
  return models::stage_parameters(s, p.plan.stages.front());
}

double total(const Prediction& p, Stream stream) {
  return p.result.traffic_bytes[static_cast<std::size_t>(stream)];
}

}  // namespace

TEST_CASE("an optimizer on the host copies gradients out and weights in, once each", "[sim]") {
  const Prediction p = predict(small_gpt("optimizer: {name: adamw, device: cpu, cpu_rate: 2e9}\n"));
  CHECK(total(p, Stream::CopyOut) == Approx(2 * trained(p)).epsilon(1e-9));
  CHECK(total(p, Stream::CopyIn) == Approx(2 * trained(p)).epsilon(1e-9));
  CHECK(of_stream(p, "optimizer on host", Stream::Host) == Approx(trained(p) / 2e9).epsilon(1e-9));
  const MemoryPeak& peak = p.result.memory.front();
  CHECK(peak.parts[static_cast<std::size_t>(MemoryPart::Optimizer)] == Approx(0).margin(1));
  CHECK(peak.host_bytes == Approx((12 + 2) * trained(p)).epsilon(1e-9));
}

TEST_CASE("all devices of a node share its processors", "[sim]") {
  const auto host = [](const std::string& parallel) {
    return of_stream(predict(small_gpt("optimizer: {device: cpu, cpu_rate: 2e9}\n" + parallel)),
                     "optimizer on host", Stream::Host);
  };
  // Replicas all update everything; shards of them do together what one does.
  CHECK(host("parallel: {dp: 4}\n") == Approx(4 * host("")).epsilon(1e-9));
  CHECK(host("parallel: {dp: 4, zero: 1}\n") == Approx(host("")).epsilon(1e-9));
}

TEST_CASE("gradients that go over beside the backward are not waited for as long", "[sim]") {
  const auto step = [](const std::string& more) {
    return predict(
               small_gpt("optimizer: {device: cpu, cpu_rate: 1e12, subgroups: 4" + more + "}\n"))
        .result.step_time;
  };
  CHECK(step("") < step(", beside_backward: false"));
}

TEST_CASE("subgroups on the device move their states both ways", "[sim]") {
  const Prediction p = predict(
      small_gpt("optimizer: {device: cpu, cpu_rate: 2e9, subgroups: 8, device_share: 0.25}\n"));
  CHECK(total(p, Stream::CopyIn) == Approx((0.25 * 12 + 0.75 * 2) * trained(p)).epsilon(1e-9));
  CHECK(total(p, Stream::CopyOut) == Approx((2 + 0.25 * 12) * trained(p)).epsilon(1e-9));
  CHECK(of_stream(p, "optimizer on host", Stream::Host) ==
        Approx(0.75 * trained(p) / 2e9).epsilon(1e-9));
}

TEST_CASE("drives set the pace where they are slower than the processors", "[sim]") {
  const Prediction p = predict(
      small_gpt("optimizer: {device: nvme, cpu_rate: 1e12, read: 6 GB/s, write: 3 GB/s}\n"));
  CHECK(of_stream(p, "optimizer on host", Stream::Host) ==
        Approx(12 * trained(p) * (1 / 6e9 + 1 / 3e9)).epsilon(1e-9));
}

TEST_CASE("recompute: auto takes what fits and says so", "[sim]") {
  const auto run = [](const std::string& limit) {
    return predict(small_gpt("recompute: auto\n" + limit)).result;
  };
  const Result loose = run("memory_limit: 70 GB\n"), tight = run("memory_limit: 7800 MB\n");
  CHECK(loose.assumptions.back().find("recompute: auto took none") != std::string::npos);
  CHECK(tight.assumptions.back().find("fastest that stays below") != std::string::npos);
  CHECK(tight.step_time > loose.step_time);
  for (const MemoryPeak& peak : tight.memory) CHECK(peak.reserved_bytes <= 7.8e9);
}

TEST_CASE("where nothing fits, recompute: auto says that too", "[sim]") {
  const Result result = predict(small_gpt("recompute: auto\nmemory_limit: 1 MB\n")).result;
  CHECK(result.assumptions.back().find("nothing stays below") != std::string::npos);
}

TEST_CASE("the host updates of experts what expert data parallelism leaves a rank", "[sim]") {
  const models::Scenario s = tests::scenario_of(
      "model: {preset: qwen3-30b-a3b, layers: 4}\n"
      "cluster: {preset: dgx-h100, nodes: 2}\n"
      "batch: {global: 64, micro: 1, sequence: 4096}\n"
      "parallel: {ep: 8, zero: 1}\n"
      "optimizer: {device: cpu, cpu_rate: 2e9}\n");
  const Prediction p = predict(s);
  // 16 ranks share dense parameters, pairs of them the experts of one eighth.
  const models::HeldParameters held = models::held_parameters(s, p.plan.stages.front());
  const double shard = held.dense / 16 + held.experts / 2;
  CHECK(of_stream(p, "optimizer on host", Stream::Host) == Approx(8 * shard / 2e9).epsilon(1e-9));
  CHECK(p.result.memory.front().host_bytes == Approx((12 + 2) * shard).epsilon(1e-9));
}
