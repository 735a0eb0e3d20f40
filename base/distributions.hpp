// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "base/rng.hpp"

/// Random numbers of given laws. Only additions, multiplications, divisions and square roots, which
/// IEEE 754 rounds the same everywhere: unlike <random> and the C library's exp and log they give
/// the same bits on every machine.
namespace paceline::base {

/// e^x for |x| up to 700, to 1e-15 relative.
double same_exp(double x);
/// ln x for positive normal x, to 1e-15 relative (absolute near 1).
double same_log(double x);

/// Mean 0, variance 1: Marsaglia's polar method (SIAM Review 6, 1964).
double standard_normal(Rng& rng);
/// exp(sigma z - sigma^2 / 2), z standard normal: mean 1, median exp(-sigma^2 / 2).
double lognormal_of_mean_one(Rng& rng, double sigma);
/// U^(-1/shape) with U uniform in (0, 1]: at least 1, mean shape / (shape - 1) for shape > 1.
double pareto(Rng& rng, double shape);

}  // namespace paceline::base
