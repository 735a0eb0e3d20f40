// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/cost/collective.hpp"

/// NCCL's own cost table: what the library believes a collective takes, by which it chooses. It is
/// blind to most real overheads (a factor of 2 to 3 below 64 KiB on slow networks) but reproduces
/// its choices, wrong ones included.
namespace paceline::models {

/// NCCL's estimate for one algorithm and protocol of AllReduce, AllGather or ReduceScatter;
/// infinite when the release or the group cannot run it.
base::Seconds nccl_estimate(CollectiveOp op, CollectiveAlgorithm algorithm,
                            CollectiveProtocol protocol, base::Bytes size,
                            const CollectiveGroup& group, const NcclRelease& release);

/// The combination with the smallest estimate among those the group allows, hence the one NCCL runs
/// without a tuner plugin.
CollectiveChoice nccl_choice(CollectiveOp op, base::Bytes size, const CollectiveGroup& group,
                             const NcclRelease& release);

}  // namespace paceline::models
