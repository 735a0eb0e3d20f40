// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/config.hpp"

namespace paceline::models {

/// `path=value` texts, as --set takes them, on a scenario's document, one after another.
/// base::Error for a text that is none, or a path that leads through a value.
void set_values(base::Document& document, const std::vector<std::string>& set);

/// A scenario is a page of text, with a list of document lengths some pages: larger files are
/// refused before they are read for a minute.
constexpr base::Limits scenario_limits() { return {4U << 20, 64, 250'000}; }

}  // namespace paceline::models
