// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "sim/program.hpp"

/// Updates as passes: U is the optimizer step of one stage, N the part of the gradient norm that
/// one stage contributes. Both are local and stand only where a schedule puts them.
namespace paceline::sim {

/// By pass: whether it makes a weight gradient. Those are W and BW; where a Program has neither,
/// every pass that runs up the stages.
std::vector<bool> gradient_passes(const Program& program);

/// Adds the pass U to a Program without one: it reads the gradient passes of its stage, microbatch
/// and slice, where they stand. Returns its number.
std::uint8_t add_update_pass(Program& program);

/// How the optimizer step of a synchronous schedule starts.
enum class StepStart : std::uint8_t {
  Local,        ///< U of a stage after its own gradients; the norm is checked afterwards
  NormBarrier,  ///< N of every stage, and no U before all of them
};

/// Writes the optimizer step that ends a synchronous schedule into its orders: for every stage a
/// rank has gradients of, U (after N under NormBarrier) at the end of the rank's order, stages in
/// the order in which their gradients end. Local is the un-barriered step of Qi et al., "Zero
/// Bubble Pipeline Parallelism" (ICLR 2024), section 4, which validates the norm after the update
/// and repeats the step when it was wrong; NormBarrier is the usual step with gradient clipping.
///
/// U and N carry the largest microbatch whose gradient the rank made for the stage: ranks that
/// hold copies of a stage (chimera, dualpipe) have updates of their own, and N joins the stages of
/// one direction. The time of a reduction between the copies belongs to the lowering. Under `ready`
/// dispatch U waits for that microbatch only; its place at the end of the order does the rest.
/// Throws base::Error when the Program already has updates or a rank without gradients.
void append_updates(Program& program, StepStart start);

}  // namespace paceline::sim
