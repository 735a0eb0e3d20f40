// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/train/optimizer.hpp"
#include "sim/program.hpp"

namespace paceline::kernels::train {

/// Bytes that pipeline rank `rank` needs, to about a fifth: weights in the versions that are kept,
/// gradients and optimizer states of its stages, and what forward keeps of the most microbatches
/// under way at a time.
double needed_bytes(const GptShape& shape, const models::Plan& plan, const sim::Program& program,
                    const Optimizer& optimizer, int rank);

/// Throws base::Error at `where` when this machine has less memory than that. On devices the
/// backend says so when it runs out.
void check_memory(double bytes, const Backend& backend, const std::string& where);

}  // namespace paceline::kernels::train
