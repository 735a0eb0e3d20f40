// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "models/workload/dispatchers/dispatcher.hpp"

namespace paceline::models::detail {
namespace {

constexpr std::array kDispatcherKinds{
#define PACELINE_DISPATCHER(id, function, name, summary) \
  DispatcherKind{name, summary, function##_to_experts, function##_from_experts},
#include "models/workload/dispatchers/list.def"
#undef PACELINE_DISPATCHER
};

}  // namespace

std::span<const DispatcherKind> dispatcher_kinds() { return kDispatcherKinds; }

const DispatcherKind& dispatcher_kind(Dispatcher dispatcher) {
  return kDispatcherKinds[static_cast<std::size_t>(dispatcher)];
}

double dispatch_share(const Builder& b) {
  constexpr double kBlock = 128;  // values with one scale
  return b.shape().experts.settings.fp8_dispatch ? (1 + 4 / kBlock) / kHalf : 1;
}

void copy_rows(Builder& b, std::string_view name, Phase phase, double read, double written,
               double hidden) {
  b.stream(name, phase, b.shape().element * (read + written) * hidden, true);
}

void gather_rows(Builder& b, const Exchange& x) {
  if (b.shape().experts.etp == 1) return;
  b.collective("gather rows", x.phase, CollectiveOp::AllGather, GroupAxis::Etp,
               dispatch_share(b) * kHalf * x.routed.rows * x.routed.hidden, 0);
}

void scatter_rows(Builder& b, const Exchange& x) {
  if (b.shape().experts.etp == 1) return;
  b.collective("reduce rows", x.phase, CollectiveOp::ReduceScatter, GroupAxis::Etp,
               kHalf * x.routed.rows * x.routed.hidden, 0);
}

}  // namespace paceline::models::detail
