// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/predict.hpp"

/// Steps of samples of different lengths (`batch.samples`): each is a whole forward and backward on
/// as many of the cp x dp ranks as it is given, and the ranks meet at the end of the step only.
namespace paceline::sim {

/// Seconds of a sample of so many tokens on so many ranks; not above 0: it may not run there.
using SampleTime = std::function<double(std::int64_t tokens, int ranks)>;

struct PlacedSample {
  int first = 0, ranks = 1;  ///< neighbours, a multiple of `ranks` the first
  double seconds = 0;
};

/// Which ranks compute each sample, in the order they begin. With a choice of degrees: for a bound
/// on the time of a sample, each gets the smallest degree that meets it (Turek, Wolf and Yu, SPAA
/// 1992); wide samples are placed before narrow ones and long before short, each where it can begin
/// first; the bound that ends first counts. With one degree samples are dealt in turn, as data
/// parallelism does. `degrees` ascend and divide `ranks`; every sample may run on one of them.
std::vector<PlacedSample> place_samples(const std::vector<std::int64_t>& tokens, int ranks,
                                        const std::vector<int>& degrees, const SampleTime& time);

/// The step as tasks, a lane a rank: a sample starts when all of its ranks are free.
TaskGraph sample_graph(const std::vector<PlacedSample>& placed, int ranks);

/// Samples the steps: their distribution becomes that of the result, its mean the step time, what
/// ranks idle the bubble. `p` is the prediction with every sample as long as batch.sequence on cp
/// ranks, from which the end of a step (reduction, optimizer) and memory are taken: no rank holds
/// more tokens than there.
void take_samples(const models::Scenario& scenario, Prediction& p);

}  // namespace paceline::sim
