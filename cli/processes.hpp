// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

#include "kernels/backend.hpp"

namespace paceline::cli {

/// Makes `ranks` processes of this command, see kernels::start_ranks: nothing in a rank, which goes
/// on; in the process that started the ranks their exit status. base::MissingError where ranks of
/// this backend cannot communicate.
std::optional<int> start_ranks(int ranks, const kernels::Backend& backend);

}  // namespace paceline::cli
