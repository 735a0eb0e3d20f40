// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/config.hpp"

namespace paceline::models {

/// `path=value` texts, as --set takes them, on a scenario's document, one after another.
/// base::Error for a text that is none, or a path that leads through a value.
void set_values(base::Document& document, const std::vector<std::string>& set);

}  // namespace paceline::models
