// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "models/workload/expert_load.hpp"
#include "sim/documents.hpp"
#include "sim/lower/inner_tasks.hpp"
#include "sim/lower/pass_cost.hpp"

/// What costs are worked out from, and how they add up.
namespace paceline::sim {

CostContext cost_context(const models::Scenario& s, const models::Plan& plan, int first_device) {
  CostContext c;
  c.scenario = &s;
  c.plan = &plan;
  const std::size_t group = s.cluster.place_of(first_device).group;
  c.kernels = models::kernel_model(s.cluster.groups[group].device, s.profiles[group], s.stack,
                                   s.attention, s.model, s.precision);
  using Names = std::array<std::string_view, 1>;
  c.tp = models::group_of(plan, s, Names{"tp"}, first_device);
  const models::ContextGroups context = models::context_groups(plan, s, first_device);
  c.cp = context.all;
  c.cp_inner = context.inner;
  c.cp_outer = context.outer;
  c.data = models::data_groups(plan, s, first_device);
  if (s.batch.documents)
    c.packs = std::make_shared<const std::vector<models::Window>>(typical_packs(s));
  c.experts = models::expert_groups(plan, s, first_device);
  const auto moe = std::find_if(s.model.kinds.begin(), s.model.kinds.end(),
                                [](const models::Layer& l) { return l.experts.count > 0; });
  if (moe != s.model.kinds.end()) {
    const models::ExpertLoad load =
        models::expert_load(s.moe, moe->experts.count, moe->experts.per_token, s.parallel.ep);
    c.expert_load = load.mean;
    c.expert_load_slowest = load.slowest;
  }
  c.nccl = &models::nccl_release(s.stack.nccl);
  c.overlap_slowdown = s.stack.overlap_slowdown.value_or(
      s.profiles[group].overlap_slowdown.value_or(s.cluster.groups[group].device.overlap_slowdown));
  return c;
}

void add_tail(PassCost& cost, Part part, double seconds) {
  if (!cost.inner.empty() && seconds > 0) {
    InnerTask tail;
    tail.part = part;
    tail.name = part == Part::Host ? "host" : "straggler";
    tail.seconds = tail.finish = seconds;
    append_inner(cost.inner, {tail}, cost.seconds);
  }
  cost.seconds += seconds;
  cost.parts[static_cast<std::size_t>(part)] += seconds;
}

PassCost& PassCost::operator+=(const PassCost& o) {
  for (const AttentionUse& use : o.attention) {
    const auto same = std::find_if(attention.begin(), attention.end(),
                                   [&](const AttentionUse& u) { return u.core == use.core; });
    if (same == attention.end()) {
      attention.push_back(use);
    } else {
      same->count += use.count;
    }
  }
  append_inner(inner, o.inner, seconds);
  seconds += o.seconds;
  flops += o.flops;
  host += o.host;
  matrix_seconds += o.matrix_seconds;
  for (std::size_t i = 0; i < parts.size(); ++i) parts[i] += o.parts[i];
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] += o.bytes[i];
  return *this;
}

}  // namespace paceline::sim
