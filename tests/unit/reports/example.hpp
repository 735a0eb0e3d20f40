// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "models/scenario/scenario.hpp"
#include "sim/predict.hpp"

/// A small run written by hand: two pipeline ranks of four devices each, three microbatches of
/// 1F1B, one data-parallel all-reduce and the optimizer. Forwards take 10 ms, backwards 20 ms,
/// messages 1 ms.
namespace tests {

paceline::models::Scenario example_scenario();
paceline::sim::Prediction example_prediction();

}  // namespace tests
