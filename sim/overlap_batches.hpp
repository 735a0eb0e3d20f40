// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/program.hpp"

namespace paceline::sim {

/// Forwards and backwards of different microbatches as fused pairs, so that the exchanges of one
/// run beside the products of the other: of an order F..F (F B)..(F B) B..B on every rank. Each
/// rank first does `lead` more forwards than before, as many as let no pair wait for one of its own
/// rank: none with several chunks, and with one chunk as many again as ranks behind it (a pair
/// passes on both its results at its end). Programs of other passes or orders are returned as they
/// are; false says so.
bool overlap_batches(Program& program);

}  // namespace paceline::sim
