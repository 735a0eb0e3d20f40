// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "base/config.hpp"

namespace paceline::models {

/// How tokens reach the ranks of their experts: a line of models/workload/dispatchers/list.def.
enum class Dispatcher : std::uint8_t {
#define PACELINE_DISPATCHER(id, function, name, summary) id,
#include "models/workload/dispatchers/list.def"
#undef PACELINE_DISPATCHER
};

/// How unequal the shares of the experts are.
enum class ImbalanceLaw : std::uint8_t {
  Balanced,     ///< every expert gets the same
  Lognormal,    ///< shares proportional to exp(sigma z), z standard normal
  Zipf,         ///< shares proportional to 1 / rank^exponent, experts in random order
  Adversarial,  ///< every token goes to the experts of one rank, as far as it can
  Measured,     ///< the busiest rank's share over the mean is given
};
struct Imbalance {
  ImbalanceLaw law = ImbalanceLaw::Balanced;
  double value = 0;  ///< sigma, exponent, or the measured load (1 or more)
  std::uint64_t seed = 1;
};

/// `moe` of a scenario: what its mixture-of-experts layers do with tokens.
struct MoeSettings {
  Dispatcher dispatcher = Dispatcher::AllToAll;
  double capacity = 0;  ///< tokens an expert takes over its equal share; 0: it drops none
  int node_limit = 0;   ///< nodes the experts of one token lie on at most; 0: any
  int pad = 0;          ///< rows of an expert are filled up to a multiple of this; 0: 16 in FP8
  /// Tokens travel to their experts in FP8 with a scale for 128 values, results come back in 16
  /// bits; the same of the gradients (DeepSeek-V3, arXiv 2412.19437, section 3.3.3).
  bool fp8_dispatch = false;
  Imbalance imbalance;
  /// the exchanges of a microbatch's forward run beside another's backward, and the other way round
  bool overlap = false;
  bool shared_overlap = false;  ///< shared experts run beside the exchanges
};
MoeSettings read_moe(base::Fields fields);
std::string_view to_text(Dispatcher dispatcher);
std::string_view to_text(ImbalanceLaw law);

}  // namespace paceline::models
