// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "models/scenario/read_parts.hpp"

/// Where the keys of a scenario stood, for complaints of later steps.
namespace paceline::models {
namespace {

/// Keys that later steps complain about.
constexpr std::string_view kPlacedKeys[] = {"cluster",
                                            "model",
                                            "parallel.tp",
                                            "parallel.pp",
                                            "parallel.cp",
                                            "parallel.dp",
                                            "parallel.context",
                                            "parallel.ep",
                                            "parallel.etp",
                                            "parallel.stage_layers",
                                            "batch.global",
                                            "batch.micro",
                                            "batch.sequence",
                                            "batch.documents",
                                            "batch.samples",
                                            "loss_chunks",
                                            "schedule.name",
                                            "schedule.chunks",
                                            "schedule.update_every",
                                            "schedule.slices",
                                            "schedule.group",
                                            "schedule.directions",
                                            "schedule.skip",
                                            "schedule.pools",
                                            "schedule.memory_limit",
                                            "schedule.file",
                                            "attention",
                                            "precision",
                                            "schedule.dispatch",
                                            "recompute",
                                            "jitter",
                                            "foreign",
                                            "offload",
                                            "optimizer",
                                            "outer",
                                            "parallel.order",
                                            "parallel.shard",
                                            "parallel.sequence_parallel",
                                            "moe.dispatcher",
                                            "moe.node_limit",
                                            "moe.overlap",
                                            "moe.capacity",
                                            "failures.device_mtbf",
                                            "failures.node_mtbf",
                                            "failures.job_mtbf",
                                            "failures.link_mtbf",
                                            "failures.site_mtbf",
                                            "failures.slow_mtbf",
                                            "failures.spot",
                                            "failures.checkpoints.mode"};

/// Where a module states what a whole scenario says elsewhere.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kModuleKeys{
    {{"batch.micro", "micro"}, {"batch.sequence", "tokens"}, {"cluster", "name"}}};

}  // namespace

void detail::remember_places(const base::Document& document, const std::string& prefix,
                             const std::string& shown, Scenario& s) {
  const auto find = [&](std::string path, std::size_t shortest) {
    const base::Value* value = base::find_path(document.root, path);
    while (value == nullptr && path.find('.', shortest) != std::string::npos) {
      path = path.substr(0, path.rfind('.'));
      value = base::find_path(document.root, path);
    }
    return value;
  };
  s.places.clear();
  for (const std::string_view key : kPlacedKeys) {
    std::string_view own = key;
    for (const auto& [whole, module] : kModuleKeys)
      if (!prefix.empty() && whole == key) own = module;
    const base::Value* value =
        prefix.empty() ? nullptr : find(prefix + std::string(own), prefix.size());
    const std::string name = value != nullptr ? shown + std::string(own) : std::string(key);
    if (value == nullptr) value = find(std::string(key), 0);
    const std::string place =
        value == nullptr ? document.file : base::place_text(document, value->place);
    s.places.emplace_back(key, place + ": " + name);
  }
}

std::string where(const Scenario& scenario, const std::string& key) {
  for (const auto& [name, place] : scenario.places) {
    if (name == key) return place;
  }
  return scenario.file + ": " + key;
}

}  // namespace paceline::models
