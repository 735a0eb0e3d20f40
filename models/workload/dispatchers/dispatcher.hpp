// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>

#include "models/workload/moe_ops.hpp"
#include "models/workload/op_builder.hpp"

/// A dispatcher: the exchanges between a router and the experts, and the copies around them. The
/// gradient of what takes tokens to the experts goes the way back, and the other way round.
namespace paceline::models::detail {

struct Exchange {
  const Routed& routed;
  double per_token = 0, count = 0;  ///< of the layer's experts
  Phase phase = Phase::Forward;
};

struct DispatcherKind {
  std::string_view name, summary;
  /// Tokens to experts forward, gradients of their results backward.
  void (*to_experts)(Builder&, const Exchange&);
  /// Results back forward, gradients of tokens backward.
  void (*from_experts)(Builder&, const Exchange&);
};
const DispatcherKind& dispatcher_kind(Dispatcher dispatcher);
std::span<const DispatcherKind> dispatcher_kinds();

#define PACELINE_DISPATCHER(id, function, name, summary) \
  void function##_to_experts(Builder&, const Exchange&); \
  void function##_from_experts(Builder&, const Exchange&);
#include "models/workload/dispatchers/list.def"
#undef PACELINE_DISPATCHER

/// What tokens on their way to experts weigh over their 16-bit form: 1, or in FP8 a byte and a
/// share of an fp32 scale an element.
double dispatch_share(const Builder& b);

/// HBM bytes of copying rows: each read and written once.
void copy_rows(Builder& b, std::string_view name, Phase phase, double read, double written,
               double hidden);
/// Over the ranks that share an expert's matrices: all of them need all rows, and add results up.
void gather_rows(Builder& b, const Exchange& x);
void scatter_rows(Builder& b, const Exchange& x);

}  // namespace paceline::models::detail
