// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <vector>

#include "base/sample.hpp"
#include "kernels/backend.hpp"

namespace paceline::cli {

/// Collectives and messages between `ranks` processes of this machine, which are started here: all
/// kinds over sizes from 1 KiB to 64 MiB (4 MiB when quick). Nothing in ranks but the first; in the
/// process that started them `status` is theirs.
std::optional<std::vector<base::Sample>> collective_samples(const kernels::Backend& backend,
                                                            int ranks, bool quick,
                                                            std::optional<int>& status);

}  // namespace paceline::cli
