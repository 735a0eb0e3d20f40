// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "models/compression/codec.hpp"
#include "models/hardware/device.hpp"

/// Training that exchanges now and then: several workers, each a whole run of the scenario, take
/// inner steps on their own and exchange in rounds. `outer` of the scenario.
namespace paceline::models {

/// Who sends to whom, and how often a byte of what is exchanged crosses a worker's link in one
/// direction.
enum class OuterExchange : std::uint8_t {
  Ring,       ///< all-reduce round a ring: 2 (M - 1) / M, in 2 (M - 1) messages
  Butterfly,  ///< all-reduce by halving and doubling: 2 (M - 1) / M in 2 log2 M messages
  Gossip,     ///< with one partner that changes from round to round: 1, in one message
  Server,     ///< to a site that adds and sends back: 1 up, 1 down, M times on the server's link
  Once,       ///< 1, without latency, as the published tables count
};
constexpr std::array<base::Named<OuterExchange>, 5> kOuterExchanges{
    {{"ring", OuterExchange::Ring},
     {"butterfly", OuterExchange::Butterfly},
     {"gossip", OuterExchange::Gossip},
     {"server", OuterExchange::Server},
     {"once", OuterExchange::Once}}};

struct OuterMethod;

/// Rounds (from 1, both included) in which a worker does nothing, or a link between two sites is
/// dead: traffic takes another way, and workers without one sit the round's exchange out.
struct OuterOutage {
  int worker = -1;         ///< from 0; -1: a link
  int from = -1, to = -1;  ///< sites, both ways
  int first = 1, last = 1;
};

/// What the scenario says.
struct OuterChoice {
  const OuterMethod* method = nullptr;
  int workers = 2;        ///< M
  int inner_steps = 100;  ///< H: steps of a worker from one round to the next
  int fragments = 1;      ///< parts of the model whose exchanges are spread over the round
  int overlap = 0;        ///< inner steps that may pass while an exchange is on its way
  double blocking = 1;    ///< share of the model in an exchange that all wait for
  OuterExchange exchange = OuterExchange::Ring;
  double element_bits = 16;      ///< of what is sent, where no codec is named
  const Codec* codec = nullptr;  ///< of pseudo-gradients
  CodecSettings codec_settings;
  /// Of a worker's link, one way. 0: workers stand side by side on the cluster's devices, and the
  /// network of its sites joins them.
  base::BytesPerSecond bandwidth;
  base::Seconds latency;  ///< of a message
  int server = 0;         ///< site of the parameter server
  double lost = 0;        ///< probability that what a worker sends in a round does not arrive
  std::uint64_t seed = 1;
  std::vector<OuterOutage> outages;
  int rounds = 200;  ///< simulated, where rounds differ from each other
  bool varies() const { return lost > 0 || !outages.empty(); }
  /// Time of an inner step of each worker over that of the scenario; empty: all alike.
  std::vector<double> slowness;
};

/// One exchange of a round whose inner steps are numbered 0 to H - 1. Layers can be sent as the
/// backward pass of step `after` leaves them, the last one first; step `before` waits for all of
/// them (H: the first step of the next round).
struct OuterSync {
  int after = 0;
  int before = 0;
  std::vector<int> layers;  ///< ascending
  double share = 1;         ///< of each layer that is sent
  bool pairs = false;       ///< with one partner, whatever the exchange is
};

/// A way of training. Its file holds all of it.
struct OuterMethod {
  std::string_view name, about, paper;
  std::vector<std::string_view> keys;            ///< of fragments, overlap, blocking, inner_steps
  OuterExchange exchange = OuterExchange::Ring;  ///< where the scenario does not say
  std::vector<OuterSync> (*round)(const OuterChoice&, int layers);
};

/// All methods, in the order of methods.def.
const std::vector<OuterMethod>& outer_methods();

/// base::Error for an unknown method, H of 0, a key the method does not take, and without
/// `bandwidth` for a cluster whose sites do not hold `workers` workers of so many devices, each on
/// one site.
OuterChoice read_outer(base::Fields fields, const Cluster& cluster, int devices);

/// The site of every worker, where the cluster has sites.
std::vector<int> worker_sites(const OuterChoice& outer, const Cluster& cluster, int devices);

/// 0 ... count - 1.
std::vector<int> all_layers(int count);

}  // namespace paceline::models
