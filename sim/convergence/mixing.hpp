// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "base/config.hpp"

/// Who averages with whom: row w holds the shares of all workers in what worker w gets.
namespace paceline::sim::convergence {

using Mixing = std::vector<std::vector<double>>;

Mixing complete_mixing(int workers);  ///< the mean of all
Mixing ring_mixing(int workers);      ///< oneself and both neighbours, a third each
/// Pairs with a random partner, half each; of an odd number one stays alone.
Mixing pair_mixing(int workers, std::uint64_t seed, std::uint64_t round);

/// "" when every entry is in [0, 1] and rows and columns add up to 1 (within 1e-9); else which one
/// does not: "row 2 adds up to 0.9". Rows and columns count from 0.
std::string not_doubly_stochastic(const Mixing& mixing);

/// A list of lists under `key`; base::Error when it is not square, of `workers`, or doubly
/// stochastic.
Mixing read_mixing(base::Fields& fields, std::string_view key, int workers);

}  // namespace paceline::sim::convergence
