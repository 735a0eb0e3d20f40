// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "models/scenario/read_parts.hpp"

namespace paceline::models::detail {
namespace {

/// Whether whatever the second holds for, the first does too.
bool covers(const CompressionRule& first, const CompressionRule& second) {
  const auto range = [](const std::optional<RuleRange>& all, const std::optional<RuleRange>& part) {
    return !all || (part && all->first <= part->first && part->last <= all->last);
  };
  return first.group == second.group && range(first.layers, second.layers) &&
         range(first.steps, second.steps) &&
         (first.links == CompressedLinks::All || first.links == second.links);
}

/// Why the rule of this number never holds; "": it may.
std::string why_idle(const Scenario& s, std::size_t number) {
  const CompressionRule& rule = s.compression[number];
  if (rule.links == CompressedLinks::InterNode && s.cluster.groups.size() == 1 &&
      s.cluster.groups.front().nodes == 1)
    return "the cluster is one node";
  const double step = static_cast<double>(s.batch.global) * static_cast<double>(s.batch.sequence);
  const double steps = std::ceil(s.run_tokens / step);
  if (rule.steps && s.run_tokens > 0 && static_cast<double>(rule.steps->first) > steps)
    return "the run ends with step " + std::to_string(static_cast<std::int64_t>(steps));
  for (std::size_t i = 0; i < number; ++i)
    if (covers(s.compression[i], rule))
      return "compression." + std::to_string(i) + " comes first wherever it would hold";
  return "";
}

}  // namespace

void note_idle_rules(Scenario& s) {
  for (std::size_t i = 0; i < s.compression.size(); ++i) {
    const std::string why = why_idle(s, i);
    if (!why.empty())
      s.assumptions.push_back("compression." + std::to_string(i) + " never holds: " + why);
  }
}

}  // namespace paceline::models::detail
