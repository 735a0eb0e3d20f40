// SPDX-License-Identifier: Apache-2.0
#include "sim/choose_memory.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "base/text.hpp"
#include "models/scenario/resolved.hpp"
#include "sim/predict.hpp"

namespace paceline::sim {
namespace {

using models::Recompute;
using models::Scenario;

struct Way {
  Recompute recompute = Recompute::None;
  int layers = 0;
  double offloaded = 0;
};

std::vector<Way> ways(const Scenario& s) {
  std::vector<Way> recomputes{{s.recompute, s.recompute_layers, s.offload.share}};
  if (s.choose_recompute) {
    int most = 0;
    for (const models::Stage& stage : models::make_plan(s).stages)
      most = std::max(most, stage.layers);
    recomputes.push_back({Recompute::Selective, 0, s.offload.share});
    std::set<int> counts{most / 4, most / 2, most * 3 / 4};
    for (const int layers : counts)
      if (layers > 0) recomputes.push_back({Recompute::Blockwise, layers, s.offload.share});
    recomputes.push_back({Recompute::Full, 0, s.offload.share});
  }
  if (!s.choose_offload) return recomputes;
  std::vector<Way> all;
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})
    for (Way way : recomputes) {
      way.offloaded = share;
      all.push_back(way);
    }
  return all;
}

Scenario with(const Scenario& s, const Way& way) {
  Scenario out = s;
  out.choose_recompute = out.choose_offload = false;
  out.recompute = way.recompute;
  out.recompute_layers = way.layers;
  out.offload.share = way.offloaded;
  return out;
}

std::string describe(const Scenario& s, const Way& way, bool fits, double limit) {
  std::string text;
  if (s.choose_recompute) {
    text = "recompute: auto took " + std::string(models::to_text(way.recompute));
    if (way.recompute == Recompute::Blockwise)
      text += " with " + std::to_string(way.layers) + " layers a stage";
  }
  if (s.choose_offload)
    text += (text.empty() ? "" : "; ") + std::string("offload: auto took ") +
            base::format_percent(way.offloaded) + " of the activations";
  const std::string size = base::format_bytes(base::Bytes(limit));
  return text +
         (fits ? ", the fastest that stays below " : ", the smallest: nothing stays below ") + size;
}

}  // namespace

Scenario choose_memory(const Scenario& scenario) {
  Scenario alone = with(scenario, {scenario.recompute, scenario.recompute_layers, 0});
  alone.jitter.reset();
  alone.outer.reset();
  alone.failures.reset();
  Way best;
  bool best_fits = false;
  double best_value = 0, limit = 0;
  bool any = false;
  for (const Way& way : ways(scenario)) {
    const Result result = predict(with(alone, way)).result;
    double peak = 0;
    bool fits = true;
    for (const MemoryPeak& m : result.memory) {
      const double most =
          scenario.memory_limit.value > 0 ? scenario.memory_limit.value : m.capacity_bytes;
      limit = std::max(limit, most);
      fits = fits && m.reserved_bytes <= most;
      peak = std::max(peak, m.reserved_bytes);
    }
    const double value = fits ? result.step_time : peak;
    const bool better = !any || (fits && !best_fits) || (fits == best_fits && value < best_value);
    if (!better) continue;
    any = true;
    best = way;
    best_fits = fits;
    best_value = value;
  }
  Scenario chosen = with(scenario, best);
  chosen.assumptions.push_back(describe(scenario, best, best_fits, limit));
  return chosen;
}

}  // namespace paceline::sim
