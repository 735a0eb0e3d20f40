// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/encoded.hpp"

#include <algorithm>

#include "models/cost/collnet.hpp"
#include "models/cost/memory.hpp"

namespace paceline::sim {
namespace {

using models::GroupAxis;

std::string_view group_name(GroupAxis axis) {
  switch (axis) {
    case GroupAxis::Tp:
      return "tp";
    case GroupAxis::Cp:
    case GroupAxis::CpInner:
    case GroupAxis::CpOuter:
      return "cp";
    case GroupAxis::Ep:
      return "ep";
    case GroupAxis::Etp:
    case GroupAxis::Servers:
      break;
  }
  return "";
}

/// Rows are tokens. Columns: keys or values of a tensor-parallel rank under cp, else the hidden
/// size.
models::CodecTensor tensor_of(const CostContext& c, const models::Op& op) {
  const models::Scenario& s = *c.scenario;
  auto columns = static_cast<double>(s.model.hidden);
  const models::Attention& a = c.layer->attention;
  if (group_name(op.axis) == "cp" && a.kv_heads > 0 && a.head_dim > 0)
    columns = std::max(1.0, static_cast<double>(a.kv_heads * a.head_dim) / s.parallel.tp);
  const double element = models::activation_element(s.precision);
  return {op.bytes / element / columns, columns, 1, element};
}

}  // namespace

bool encodes_inside(const models::Scenario& s) {
  return std::any_of(s.compression.begin(), s.compression.end(),
                     [](const models::CompressionRule& rule) {
                       return rule.group == "tp" || rule.group == "cp" || rule.group == "ep";
                     });
}

std::optional<models::CompressedTime> encoded_time(const CostContext& c, const models::Op& op) {
  if (c.layer == nullptr) return std::nullopt;
  const models::CollectiveGroup& group = group_of(c, op);
  const models::CompressionRule* rule =
      models::rule_for(c.scenario->compression, group_name(op.axis), group, c.layer->number);
  if (rule == nullptr || op.bytes <= 0) return std::nullopt;
  const models::CodecTensor tensor = tensor_of(c, op);
  auto t = models::compressed_time(op.collective, *rule, tensor, group, *c.nccl, c.kernels);
  if (op.across + op.inside > 0) {
    const double share = rule->codec->encoded(rule->settings, tensor).wire_bytes / op.bytes;
    t.wire = models::two_step_time(base::Bytes(op.across * share), base::Bytes(op.inside * share),
                                   group, *c.nccl)
                 .time;
    t.sent = base::Bytes((op.across + op.inside) * share);
  }
  t.wire = t.wire * collective_factor(c, op);
  return t;
}

}  // namespace paceline::sim
