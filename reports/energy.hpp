// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/json.hpp"
#include "sim/result.hpp"

/// Energy, carbon and money of a result, as text and in its JSON.
namespace paceline::reports {

/// Keys `energy` and `cost` of a result.
void write_energy(base::JsonWriter& json, const sim::Result& result);
void write_cost(base::JsonWriter& json, const sim::Result& result);
void read_energy(base::Fields from, sim::Result& result);
void read_cost(base::Fields from, sim::Result& result);

/// Lines of the text report, without their label; empty where nothing is known.
std::vector<std::string> energy_lines(const sim::Result& result);
std::vector<std::string> cost_lines(const sim::Result& result);

}  // namespace paceline::reports
