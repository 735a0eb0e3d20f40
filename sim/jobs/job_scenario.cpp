// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/job_scenario.hpp"

#include <numeric>
#include <string>

#include "base/json.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/predict.hpp"

namespace paceline::sim::jobs {
namespace {

/// Sites in a row, joined by what hops say.
std::string sites_text(const models::JobKind& kind, const std::vector<int>& parts,
                       const std::vector<Hop>& hops) {
  std::string sites, links;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    sites += (p > 0 ? ", " : "") + std::string("{name: site") + std::to_string(p) +
             ", nodes: " + std::to_string(parts[p]) + "}";
    if (p == 0) continue;
    const double rate = kind.activation.value / hops[p - 1].seconds;
    links += (p > 1 ? ", " : "") + std::string("{between: [site") + std::to_string(p - 1) +
             ", site" + std::to_string(p) + "], bandwidth: " + base::shortest(rate) +
             " B/s, latency: " + base::shortest(hops[p - 1].latency) + " s}";
  }
  return "{kind: sites, sites: [" + sites + "], links: [" + links + "]}";
}

}  // namespace

models::Scenario scenario_on(const models::JobKind& kind, const std::vector<int>& parts,
                             const std::vector<Hop>& hops) {
  base::Document document = *kind.scenario;
  const int stages = std::accumulate(parts.begin(), parts.end(), 0);
  const bool preset = base::find_path(document.root, "cluster.preset") != nullptr;
  base::set_path(document, preset ? "cluster.devices" : "cluster.node.devices",
                 std::to_string(kind.unit));
  base::set_path(document, "cluster.nodes", std::to_string(stages));
  base::set_path(document, "parallel.pp", std::to_string(stages));
  base::set_path(document, "parallel.dp", "1");
  if (parts.size() > 1) base::set_path(document, "cluster.fabric", sites_text(kind, parts, hops));
  return models::read_scenario(document);
}

StepCost scenario_step(const models::JobKind& kind, const std::vector<int>& parts,
                       const std::vector<Hop>& hops) {
  const models::Scenario scenario = scenario_on(kind, parts, hops);
  const Result result = predict(scenario).result;
  if (!result.fits()) return {};
  double busy = 0;
  for (const Part part : {Part::Compute, Part::Optimizer, Part::Codec})
    busy += result.breakdown[static_cast<std::size_t>(part)];
  const int stages = std::accumulate(parts.begin(), parts.end(), 0);
  return {result.step_time, busy * stages};
}

}  // namespace paceline::sim::jobs
