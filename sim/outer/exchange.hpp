// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "models/outer/outer.hpp"
#include "sim/outer/outer.hpp"
#include "sim/outer/wan.hpp"

/// What workers exchange: how many bytes, which kernels encode and decode them, and what they take
/// on links of the workers' own.
namespace paceline::sim {

/// Of one exchange of a part of the model, per worker.
struct OuterCode {
  double bytes = 0;  ///< on the wire
  // Seconds on the compute stream: before the exchange, after it, and where nothing waits for it.
  double encode = 0, decode = 0, aside = 0;
};

/// Of `elements` of every worker's model, which `workers` of them exchange. Each device of a worker
/// encodes and decodes its share, as matrices of `InnerStep::hidden` squared in fp32. Sums as
/// models::compressed_time has them: codes that are numbers are decoded once; of others,
/// all-reduces decode the parts of all, encode their sum and decode that; gathered ones are decoded
/// one by one. Without InnerStep::kernels codecs take no time.
OuterCode outer_code(const models::OuterChoice& outer, const InnerStep& step,
                     models::OuterExchange exchange, double elements, int workers);

/// Codes that cannot be added up go to everyone as they are.
bool gathers(const models::OuterChoice& outer);

/// What one exchange takes on links of the workers' own, per byte of the model; `there`: those that
/// take part.
ExchangeCost on_own_links(const models::OuterChoice& outer, models::OuterExchange exchange,
                          const std::vector<bool>& there);

}  // namespace paceline::sim
