// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/schedules/common.hpp"

/// What the schedules without a flush share. Used by the files of this folder only.
///
/// Their Program is a piece of an endless run: it fills once, and a step is the time between
/// corresponding actions in its middle (sim/steady.hpp). Gradients after the last update of the
/// piece would be applied by the next one.
namespace paceline::sim {

/// shape.options.update_every, or where it is not given the depth of the pipeline.
int update_every(const PipelineShape& shape);

/// One stage per rank: rank r starts with `round_trip` * (ranks - 1 - r) forwards, then one forward
/// and one backward (BW) in turn, and after every `every` backwards an update of its stage.
Program without_flush(const PipelineShape& shape, const char* name, int round_trip, int every,
                      Weights weights);

}  // namespace paceline::sim
