// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/scenario/set.hpp"
#include "reports/validate.hpp"

namespace paceline::reports {

/// The model's answer to one row of a measured set, for the quantities the row measures:
///
/// | quantity | meaning |
/// |---|---|
/// | step_time_s | makespan of the step |
/// | bubble_fraction | 1 - useful compute / makespan |
/// | memory_GB | largest use of a device with context and allocator, 1e9 B |
/// | allocated_GiB | largest allocated memory of a rank, 2^30 B |
/// | fits | 1 when every rank fits, else 0 |
/// | layer_ms, layer_forward_ms, layer_backward_ms | one layer and microbatch; recomputation counts
/// as backward | | parameters_GiB | weights, gradients and optimizer state of the layers' matrices
/// on pipeline rank 0, before sharding | | activations_GiB | stored activations of the layers on
/// pipeline rank 0 at their peak | | activation_percent | activations of a layer over those without
/// recomputation and sequence parallelism |
///
/// A scenario that cannot be read or planned is no exception here: `failure` says why.
RowPrediction predict_row(const models::SetRow& row);

}  // namespace paceline::reports
