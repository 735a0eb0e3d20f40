// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace paceline::base {

/// The whole text to a file descriptor; false, with errno set, where that fails.
bool write_all(int descriptor, std::string_view text);

}  // namespace paceline::base
