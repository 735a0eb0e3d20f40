// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/parallel/plan.hpp"

/// What modules of different layouts send each other.
namespace paceline::models {

/// One direction of the exchange between a module and the one it feeds, for one microbatch of the
/// sender on all its ranks. Samples go over as a whole: activations forward, their gradients back.
///
/// Ranks of their own: the first rank of every replica sends its samples to that of the replica
/// that needs them, which hands them on to the other ranks of its tp x cp group. Bytes over all
/// ranks: W P t, for W samples of P bytes and t = tp*cp of the receiver.
///
/// Shared ranks, dp of the module r times that of the one it feeds (fan-in): forward an all-gather
/// over r siblings, W P t (r - 1) with t = tp of the module; backward every rank takes its part of
/// what it has. The other way round (fan-out, r' times): forward a part of what is there, backward
/// an all-gather over r' siblings of the receiver, W P t' (r' - 1) with t' its tp*cp. Where the
/// module also stands on later stages of its host, the first stage hands the gradients to them:
/// W P t' for each (Megatron-LM, core/models/mimo).
struct Boundary {
  double bytes = 0;    ///< over all ranks
  base::Seconds time;  ///< 0 where nobody sends
};
/// `module` sends to the one it feeds.
Boundary forward_boundary(const Scenario& scenario, const Plan& plan, int module);
/// The module it feeds sends gradients back to its copy on pipeline rank `place` of its ranks
/// (ModulePlace); `first` where that is the rank they come from.
Boundary backward_boundary(const Scenario& scenario, const Plan& plan, int module, bool first);

/// An Error where samples cannot be dealt: degrees of data parallelism that do not divide each
/// other, context parallelism on shared ranks.
void check_boundary(const Scenario& scenario, int module);

}  // namespace paceline::models
