// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "reports/validate.hpp"

namespace paceline::cli {

/// `validate power`: the law of power caps against a public sweep, a suite for time and one for
/// power, each fitted on the same rows and carried over from other GPUs.
std::vector<reports::Suite> power_suites();

}  // namespace paceline::cli
