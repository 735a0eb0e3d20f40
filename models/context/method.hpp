// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string_view>

#include "models/context/work.hpp"

/// Methods of context parallelism: each a function from dealt tokens to work, in a file of its own.
namespace paceline::models {

/// What of a choice a method looks at.
struct ContextTraits {
  bool inner = false;       ///< takes `inner`, a divisor of cp
  bool chunks = false;      ///< takes `chunks`
  bool heads = false;       ///< deals heads over `inner` ranks (over all without `inner`)
  bool contiguous = false;  ///< takes no order but that
  bool slices = true;       ///< a slice of a sequence can be computed after others
  bool pooled = false;      ///< the replicas of data parallelism share their work
};

struct ContextMethod {
  std::string_view name;
  ContextWork (*plan)(const ContextTask& task);
  ContextTraits traits;
  std::string_view summary;
};

/// All methods, in the order of methods.def.
std::span<const ContextMethod> context_methods();
/// Null for a name there is none of.
const ContextMethod* context_method(std::string_view name);

/// Which method, which order, and their numbers, `parallel.context`.
struct ContextChoice {
  const ContextMethod* method = nullptr;  ///< never null once read
  const ContextOrder* order = nullptr;
  int inner = 1;   ///< ranks of the inner group; 1 where the method has none
  int chunks = 1;  ///< of the heads
  /// Ranks over which the heads are dealt, of `cp`.
  int head_ranks(int cp) const;
};
/// Ring attention in zigzag order.
ContextChoice default_context();

/// For methods: keys and values travel round a group of `size` ranks, a part of `heads` with
/// `keys` tokens each, beside the kernels of `steps` steps.
struct RingPart {
  ContextGroup group = ContextGroup::All;
  double keys = 0;
};
/// Turns steps into a ring: beside each but the last the keys for the next; backward their
/// gradients follow one step behind, and go home after the last.
void add_ring(ContextWork& work, const RingPart& part, bool backward);
/// Copies of each key head that a group of so many ranks needs when each computes a share of the
/// heads.
double key_copies(const ContextTask& task, int ranks);
/// Before and after the steps the all-to-alls that turn shares of tokens into shares of heads.
void add_head_exchange(ContextWork& work, const ContextTask& task, ContextGroup group, int ranks,
                       double tokens);
/// Before the steps the keys that ranks need from others, backward after them their gradients, each
/// key `copies` times.
void add_needed_keys(ContextWork& work, const ContextTask& task, ContextGroup group, double copies);

}  // namespace paceline::models
