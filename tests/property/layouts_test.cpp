// SPDX-License-Identifier: Apache-2.0
// Random layouts of real models on real machines: whatever is accepted gives a sane answer.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <string>

#include "base/config.hpp"
#include "base/rng.hpp"
#include "sim/predict.hpp"
#include "sim/schedules/schedule.hpp"

using namespace paceline;

namespace {

template <class List>
auto pick(base::Rng& rng, const List& list) {
  return list[static_cast<std::size_t>(rng.below(std::size(list)))];
}

/// Powers of two up to `most`, small ones more often.
int degree(base::Rng& rng, int most) {
  int d = 1;
  while (d < most && rng.below(2) == 0) d *= 2;
  return d;
}

std::string number(std::int64_t n) { return std::to_string(n); }

/// A scenario whose degrees multiply to the devices of its cluster; the rest may not fit together.
std::string random_scenario(base::Rng& rng) {
  static const auto models = models::spec_names("model");
  static const auto clusters = models::spec_names("cluster");
  static const auto stacks = models::spec_names("stack");
  static constexpr std::array<const char*, 4> kOrders{"tp-cp-ep-dp-pp", "tp-pp-cp-ep-dp",
                                                      "dp-tp-cp-ep-pp", "pp-tp-cp-ep-dp"};
  static constexpr std::array<const char*, 4> kRecompute{"none", "selective", "full",
                                                         "blockwise\nrecompute_layers: 1"};
  static constexpr std::array<const char*, 4> kPrecision{"fp32", "fp16", "bf16", "fp8"};
  static constexpr std::array<const char*, 4> kAttention{"", "eager", "megatron-fused", "flash-2"};
  const int tp = degree(rng, 8), pp = degree(rng, 8), cp = degree(rng, 4), dp = degree(rng, 16);
  const int micro = degree(rng, 4), per_replica = micro * degree(rng, 32);
  const sim::Schedule& schedule = sim::schedules()[rng.below(sim::schedules().size())];
  const std::string attention = pick(rng, kAttention);
  return "model: {preset: " + pick(rng, models) + "}\ncluster: {preset: " + pick(rng, clusters) +
         "}\nstack: " + pick(rng, stacks) + "\nparallel: {tp: " + number(tp) +
         ", pp: " + number(pp) + ", cp: " + number(cp) + ", dp: " + number(dp) +
         ", zero: " + number(static_cast<int>(rng.below(4))) + ", order: " + pick(rng, kOrders) +
         ", sequence_parallel: " + (rng.below(2) == 0 ? "true" : "false") +
         ", context: " + (rng.below(2) == 0 ? "ring" : "all-gather") +
         "}\nschedule: {name: " + std::string(schedule.name) +
         ", chunks: " + number(degree(rng, 4)) + "}\nbatch: {global: " + number(dp * per_replica) +
         ", micro: " + number(micro) + ", sequence: " + number(256 << rng.below(6)) +
         "}\nprecision: " + pick(rng, kPrecision) + "\nrecompute: " + pick(rng, kRecompute) + "\n" +
         (attention.empty() ? "" : "attention: " + attention + "\n");
}

void check_memory(const sim::Prediction& p) {
  REQUIRE(p.result.memory.size() == p.graph.lanes.size());
  for (std::size_t lane = 0; lane < p.graph.lanes.size(); ++lane) {
    const sim::MemoryPeak& peak = p.result.memory[lane];
    double resident = 0;
    for (const sim::MemoryDelta& d : p.graph.lanes[lane].resident) resident += d.bytes;
    CHECK(std::isfinite(peak.peak_bytes));
    CHECK(resident > 0);
    CHECK(peak.peak_bytes >= resident);
    CHECK(peak.reserved_bytes >= peak.peak_bytes);
    CHECK(peak.capacity_bytes > 0);
    CHECK(peak.at_seconds >= 0);
    CHECK(peak.at_seconds <= p.timeline.makespan);
    for (const double part : peak.parts) CHECK(part >= -1);  // rounding of large sums
    CHECK(std::accumulate(peak.parts.begin(), peak.parts.end(), 0.0) == Approx(peak.peak_bytes));
  }
}

void check_answer(const sim::Prediction& p) {
  const sim::Result& r = p.result;
  REQUIRE(std::isfinite(r.step_time));
  CHECK(r.step_time > 0);
  CHECK(r.step_time_low <= r.step_time);
  CHECK(r.step_time_high >= r.step_time);
  CHECK(std::accumulate(r.breakdown.begin(), r.breakdown.end(), 0.0) ==
        Approx(r.step_time).epsilon(1e-9));
  for (const double part : r.breakdown) CHECK(part >= -1e-9 * r.step_time);
  CHECK(r.mfu > 0);
  CHECK(r.mfu < 1);
  CHECK(r.hfu >= r.mfu);
  CHECK(r.hfu < 1);
  CHECK(r.bubble_makespan >= -1e-9);
  CHECK(r.bubble_makespan < 1);
  for (const double bytes : r.traffic_bytes) CHECK((std::isfinite(bytes) && bytes >= 0));
  check_memory(p);
}

}  // namespace

TEST_CASE("random layouts give a sane answer or one line that says why not", "[layouts]") {
  base::Rng rng(20260113);
  int answered = 0, asked = 0;
  while (answered < 300 && asked < 20000) {
    const std::string text = random_scenario(rng);
    ++asked;
    INFO(text);
    try {
      const sim::Prediction p =
          sim::predict(models::read_scenario(base::parse_yaml(text, "random.yaml")));
      ++answered;
      check_answer(p);
    } catch (const base::Error& error) {
      const std::string message = error.what();
      CHECK(message.find('\n') == std::string::npos);
      CHECK(message.size() > 20);
    }
  }
  CAPTURE(asked);
  CHECK(answered == 300);
}
