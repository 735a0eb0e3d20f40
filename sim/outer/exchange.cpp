// SPDX-License-Identifier: Apache-2.0
#include "sim/outer/exchange.hpp"

#include <algorithm>
#include <cmath>

namespace paceline::sim {
namespace {

using models::CodecSum;
using models::CodecTensor;
using models::OuterChoice;
using models::OuterExchange;

/// How often a byte crosses the busiest link, and messages that follow each other.
struct Crossings {
  double times = 1, messages = 1;
};
Crossings crossings(OuterExchange exchange, double workers, bool gathered) {
  if (workers <= 1) return {0, 0};
  const double reduced = gathered ? workers - 1 : 2 * (workers - 1) / workers;
  const double passes = gathered ? 1 : 2;
  switch (exchange) {
    case OuterExchange::Ring:
      return {reduced, passes * (workers - 1)};
    case OuterExchange::Butterfly:
      return {reduced, passes * std::ceil(std::log2(workers))};
    case OuterExchange::Gossip:
      return {1, 1};
    case OuterExchange::Server:
      return {workers, 2};
    case OuterExchange::Once:
      return {1, 0};
  }
  return {};
}

/// Square matrices as wide as the model, or one where nobody says how wide that is.
CodecTensor tensor_of(double elements, double hidden) {
  const double edge = hidden > 0 ? hidden : std::sqrt(elements);
  return {edge, edge, elements / edge / edge, 4};
}

}  // namespace

OuterCode outer_code(const OuterChoice& outer, const InnerStep& step, OuterExchange exchange,
                     double elements, int workers) {
  if (outer.codec == nullptr) return {elements * outer.element_bits / 8};
  models::CodecSettings settings = outer.codec_settings;
  settings.workers = workers;
  OuterCode code;
  code.bytes = outer.codec->encoded(settings, tensor_of(elements, step.hidden)).wire_bytes;
  if (step.kernels == nullptr) return code;
  const auto share =
      outer.codec->encoded(settings, tensor_of(elements / step.devices, step.hidden));
  code.encode = models::codec_time(*step.kernels, share.encode).value;
  code.decode = models::codec_time(*step.kernels, share.decode).value;
  code.aside = models::codec_time(*step.kernels, share.aside).value;
  const bool all = exchange == OuterExchange::Ring || exchange == OuterExchange::Butterfly;
  if (all && share.sum == CodecSum::Exchanged)
    code.decode = 2 * code.decode + code.encode / workers;
  if (all && share.sum == CodecSum::Gathered) code.decode *= workers;
  return code;
}

bool gathers(const OuterChoice& outer) {
  if (outer.codec == nullptr) return false;
  return outer.codec->encoded(outer.codec_settings, {64, 64, 1, 4}).sum == CodecSum::Gathered;
}

ExchangeCost on_own_links(const OuterChoice& outer, OuterExchange exchange,
                          const std::vector<bool>& there) {
  const auto present = static_cast<double>(std::count(there.begin(), there.end(), true));
  const Crossings c = crossings(exchange, present, gathers(outer));
  ExchangeCost cost;
  cost.seconds.assign(there.size(), c.times / outer.bandwidth.value);
  cost.latency.assign(there.size(), c.messages * outer.latency.value);
  cost.sent = exchange == OuterExchange::Server ? std::min(c.times, 1.0) : c.times;
  cost.egress = cost.sent * present;
  return cost;
}

}  // namespace paceline::sim
