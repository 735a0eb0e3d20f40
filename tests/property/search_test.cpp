// SPDX-License-Identifier: Apache-2.0
// The planner's bounds never exceed what the engine says, and its answer is that of trying
// everything.
#include "sim/search/search.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <optional>

#include "base/rng.hpp"
#include "sim/predict.hpp"
#include "sim/search/branch.hpp"
#include "sim/search/incumbents.hpp"
#include "tests/scenario_of.hpp"

using namespace paceline;
using PointLayout = paceline::sim::Layout;

namespace {

constexpr std::array<const char*, 6> kJobs{
    // Stacks with and without overlap of gradients, several kinds of layers, slow networks.
    "model: {hidden: 2048, layers: 18, heads: 16, vocab: 50000}\ncluster: {preset: dgx-a100, "
    "nodes: "
    "2}\nstack: megatron-2021-04\nbatch: {global: 96, micro: 1, sequence: 1024}\nprecision: fp16\n",
    "model: {preset: llama-3.1-8b}\ncluster: {preset: dgx-h100, nodes: 2}\nstack: nemo-25.02\n"
    "batch: {global: 64, micro: 1, sequence: 8192}\n",
    "model: {preset: mixtral-8x7b}\ncluster: {preset: dgx-h100, nodes: 4}\n"
    "batch: {global: 64, micro: 1, sequence: 4096}\n",
    "model: {preset: llama-3.1-70b}\ncluster: {preset: dgx-h100, nodes: 4}\n"
    "batch: {global: 48, micro: 1, sequence: 4096}\noptimizer: {norm_barrier: false}\n",
    "model: {preset: gpt3-13b}\ncluster: {preset: dgx-a100, nodes: 1}\nstack: llm-foundry-2023\n"
    "batch: {global: 32, micro: 1, sequence: 2048}\n",
    "model: {hidden: 1024, layers: 7, heads: 16, vocab: 128000, tied: true}\n"
    "cluster: {preset: dgx-a100, nodes: 1}\nbatch: {global: 40, micro: 1, sequence: 512}\n"};

template <class List>
auto one_of(base::Rng& rng, const List& list) {
  return list[static_cast<std::size_t>(rng.below(std::size(list)))];
}

PointLayout random_layout(base::Rng& rng, const sim::SearchSpace& space) {
  PointLayout l;
  l.devices = one_of(rng, space.devices);
  l.order = space.order[static_cast<std::size_t>(rng.below(space.order.size()))];
  l.tp = one_of(rng, space.tp);
  l.cp = one_of(rng, space.cp);
  l.pp = one_of(rng, space.pp);
  l.ep = one_of(rng, space.ep);
  l.sequence_parallel = rng.below(2) == 0 && l.tp > 1;
  l.micro = one_of(rng, space.micro);
  l.schedule = space.schedule[static_cast<std::size_t>(rng.below(space.schedule.size()))];
  const models::ScheduleTraits& traits = *models::schedule_traits(l.schedule);
  l.chunks = (traits.takes & models::kTakesChunks) != 0 ? one_of(rng, space.chunks) : traits.chunks;
  l.recompute = one_of(rng, space.recompute);
  l.zero = one_of(rng, space.zero);
  l.offload = one_of(rng, space.offload);
  l.optimizer = one_of(rng, space.optimizer);
  return l;
}

double fullest_rank(const sim::Result& result) {
  double bytes = 0;
  for (const sim::MemoryPeak& peak : result.memory) bytes = std::max(bytes, peak.reserved_bytes);
  return bytes;
}

sim::SearchSpace small_space() {
  sim::SearchSpace space;
  space.devices = {8};
  space.tp = {1, 4};
  space.cp = {1};
  space.pp = {1, 2, 4};
  space.ep = space.etp = {1};
  space.sequence_parallel = {true, false};
  space.micro = {1, 4};
  space.schedule = {"1f1b", "interleaved-1f1b", "zb-v"};
  space.chunks = {2, 4};
  space.balanced = {false};
  space.recompute = {{models::Recompute::None, 0},
                     {models::Recompute::Selective, 0},
                     {models::Recompute::Full, 0}};
  space.zero = {0, 1, 3};
  space.offload = {0, 0.5};
  space.optimizer = {models::OptimizerDevice::Gpu, models::OptimizerDevice::Cpu};
  return space;
}

/// Calls f with every layout of the space that the engine answers.
template <class F>
void try_all(const models::Scenario& scenario, const sim::SearchSpace& space, const F& f) {
  sim::FactsCache cache;
  models::Scenario s = scenario;
  for (const sim::Branch& branch : sim::make_branches(scenario, space)) {
    try {
      for (const sim::BoundedPoint& point : sim::bound_branch(s, space, branch, cache).points) {
        sim::apply(point.layout, s);
        f(point, sim::predict(s).result);
      }
    } catch (const base::Error&) {  // its degrees do not divide
    }
  }
}

}  // namespace

TEST_CASE("no layout is faster or smaller than its bound", "[search]") {
  base::Rng rng(5);
  int compared = 0, close = 0;
  for (int asked = 0; asked < 12000 && compared < 200; ++asked) {
    const models::Scenario job =
        tests::scenario_of(kJobs[static_cast<std::size_t>(rng.below(kJobs.size()))]);
    sim::SearchSpace space = sim::search_space(job, true);
    sim::vary(space, job, "order=tp-cp-ep-dp-pp,dp-tp-cp-ep-pp,tp-pp-cp-ep-dp");
    const PointLayout layout = random_layout(rng, space);
    if (layout.tp * layout.cp * layout.pp > layout.devices) continue;
    models::Scenario s = job;
    sim::apply(layout, s);
    try {
      const sim::Bound bound = sim::lower_bound(s, models::make_plan(s));
      const sim::Result result = sim::predict(s).result;
      ++compared;
      INFO(job.model.name << " tp " << layout.tp << " cp " << layout.cp << " pp " << layout.pp
                          << " x " << layout.chunks << " micro " << layout.micro << " "
                          << layout.schedule << " zero " << layout.zero << " recompute "
                          << to_text(layout.recompute) << " offload " << layout.offload << " order "
                          << layout.order);
      CHECK(bound.seconds <= result.step_time * (1 + 1e-9));
      CHECK(bound.bytes <= fullest_rank(result) * (1 + 1e-9));
      if (bound.seconds > 0.8 * result.step_time) ++close;
    } catch (const base::Error&) {
    }
  }
  CHECK(compared == 200);
  CHECK(close > compared / 3);  // a bound of nothing is true, too
}

TEST_CASE("the search finds what trying everything finds", "[search]") {
  const models::Scenario job = tests::small_gpt("batch: {global: 32, micro: 1, sequence: 2048}");
  const sim::SearchSpace space = small_space();
  const auto limited = GENERATE(false, true);
  sim::SearchOptions options;
  options.threads = 2;
  options.limits.memory_bytes = limited ? 4.5e9 : 0;
  double best = 1e300, tried = 0;
  try_all(job, space, [&](const sim::BoundedPoint& point, const sim::Result& result) {
    ++tried;
    CHECK(point.bound.seconds <= result.step_time * (1 + 1e-9));
    if (!limited || fullest_rank(result) <= 4.5e9) best = std::min(best, result.step_time);
  });
  const sim::SearchAnswer answer = sim::search(job, space, options);
  REQUIRE(!answer.best.empty());
  CHECK(answer.proven);
  CHECK(answer.best.front().value == best);
  CHECK(answer.counts.evaluated < tried / 3);
  CHECK(answer.counts.points - answer.counts.invalid == tried);
  CHECK(answer.counts.bound > 0);
  CHECK((answer.counts.memory > 0) == limited);
  CHECK(answer.counts.left == 0);
  CHECK(std::is_sorted(answer.best.begin(), answer.best.end(), sim::better));
  options.threads = 1;
  const sim::SearchAnswer alone = sim::search(job, space, options);
  CHECK(alone.best.front().value == best);
  CHECK(alone.best.size() == answer.best.size());
}
