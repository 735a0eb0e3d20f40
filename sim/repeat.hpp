// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "sim/program.hpp"

namespace paceline::sim {

/// The step `times` over: on every rank the same order again and again, with microbatches of their
/// own. Nothing between two steps but what the order and the passes say: a rank begins the next
/// step as soon as it has done this one. Throws base::Error when there are too many microbatches.
Program repeated(const Program& step, int times);

}  // namespace paceline::sim
