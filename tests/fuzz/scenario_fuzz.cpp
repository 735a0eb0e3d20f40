// SPDX-License-Identifier: Apache-2.0
// Any bytes as a scenario: what is accepted has a plan and, while it is small, a sane prediction.
#include <cmath>
#include <cstdint>

#include "models/parallel/plan.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/lower/replicas.hpp"
#include "sim/predict.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace {

using namespace paceline;

constexpr std::int64_t kMaxPasses = 2'000;  ///< of one step: keeps an input below some milliseconds

void check_scenario(const models::Scenario& scenario) {
  PACELINE_CHECK(!scenario.resolved.empty() && !scenario.hash.empty());
  PACELINE_CHECK(scenario.parallel.world_size() > 0);
  PACELINE_CHECK(scenario.parallel.world_size() <= scenario.cluster.devices());
  const models::Plan plan = models::make_plan(scenario);
  PACELINE_CHECK(plan.microbatches > 0 && plan.tokens > 0);
  const auto stages = static_cast<std::int64_t>(plan.stages.size());
  if (plan.microbatches * stages > kMaxPasses || stages > 256) return;
  if (scenario.jitter &&
      (scenario.jitter->repetitions > 2 || sim::independent_replicas(scenario) > 16)) {
    return;
  }
  const sim::Prediction p = sim::predict(scenario);
  PACELINE_CHECK(std::isfinite(p.result.step_time) && p.result.step_time >= 0);
  for (const sim::MemoryPeak& peak : p.result.memory) PACELINE_CHECK(peak.peak_bytes >= 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  // What stands in other files is no input of this target.
  for (const char* key : {"huggingface", "logs", "trace"})
    if (text.find(key) != std::string::npos) return 0;
  fuzz::only_clear_errors([&] {
    check_scenario(models::read_scenario(base::parse_yaml(text, "input.yaml", fuzz::kLimits)));
  });
  return 0;
}
