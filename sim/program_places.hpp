// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace paceline::sim {

/// Where the actions of a Program stand in the file it was read from, for messages about it.
struct ProgramPlaces {
  struct Place {
    std::int32_t line = 0;    ///< from 1
    std::int32_t column = 0;  ///< from 1, in bytes
  };
  std::string file;                       ///< as shown in messages
  std::vector<std::vector<Place>> order;  ///< as Program::order
};

}  // namespace paceline::sim
