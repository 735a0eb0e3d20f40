// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "kernels/measure.hpp"

namespace paceline::cli {

/// The kernels of a step of the scenario at `path` with `overrides` ("path=value"), each shape
/// once: of a call the kernel that the scenario asks for, this program's own where that is a
/// library's that does not do it here, or whatever does the same and is named by the choice.
/// `left_out` counts calls that nothing measures on the backend. base::Error for a bad scenario or
/// name, base::MissingError as require_named_libraries().
std::vector<kernels::BenchCase> scenario_cases(const std::string& path,
                                               const std::vector<std::string>& overrides,
                                               const kernels::BenchChoice& choice,
                                               const kernels::Backend& backend,
                                               std::size_t& left_out);

}  // namespace paceline::cli
