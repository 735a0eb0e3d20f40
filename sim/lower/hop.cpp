// SPDX-License-Identifier: Apache-2.0
#include "sim/lower/hop.hpp"

#include <algorithm>

namespace paceline::sim {

using models::CollectiveOp;

HopTime hop_time(const CostContext& c, const models::Plan& plan,
                 const models::CollectiveGroup& pair, double share, std::int64_t layer) {
  const models::Scenario& s = *c.scenario;
  const bool scattered = s.stack.p2p_scatter_gather && !s.parallel.sequence_parallel;
  const double full = models::activation_element(s.precision) * plan.tokens * share *
                      static_cast<double>(s.model.hidden);
  HopTime hop;
  hop.size = full / (s.parallel.sequence_parallel || scattered ? s.parallel.tp : 1);
  if (s.costs) {
    hop.seconds = s.costs->hop.value;
    return hop;
  }
  const auto sent =
      models::collective_time(CollectiveOp::SendRecv, base::Bytes(hop.size), pair, *c.nccl);
  hop.seconds = sent.time.value;
  hop.fluid = (sent.time - sent.latency).value;
  if (const auto* rule = models::rule_for(s.compression, "pp", pair, layer)) {
    const auto hidden = static_cast<double>(s.model.hidden);
    const double element = models::activation_element(s.precision);
    const models::CodecTensor tensor{hop.size / element / hidden, hidden, 1, element};
    const models::CompressedTime t =
        models::compressed_time(CollectiveOp::SendRecv, *rule, tensor, pair, *c.nccl, c.kernels);
    hop.size = t.sent.value;
    hop.seconds = (t.encode + t.wire + t.decode).value;
    hop.fluid = std::max(0.0, (t.wire - sent.latency).value);
  }
  if (scattered && s.parallel.tp > 1) {
    hop.seconds +=
        models::collective_time(CollectiveOp::AllGather, base::Bytes(full), c.tp, *c.nccl)
            .time.value;
  }
  return hop;
}

}  // namespace paceline::sim
