// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>

namespace paceline::cli {

/// Makes `ranks` processes of this command, see kernels::start_ranks: nothing in a rank, which goes
/// on; in the process that started the ranks their exit status.
std::optional<int> start_ranks(int ranks);

}  // namespace paceline::cli
