// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <vector>

#include "base/sample.hpp"
#include "kernels/backend.hpp"
#include "kernels/collective/communicator.hpp"

namespace paceline::cli {

/// Samples of messages and collectives of all ranks of `world`, which all call it; `found` is given
/// each as it comes. Sizes are powers of four from 1 KiB up.
std::vector<base::Sample> collective_samples(const kernels::Communicator& world,
                                             const kernels::Backend& backend, bool quick,
                                             const std::function<void(const base::Sample&)>& found);

}  // namespace paceline::cli
