// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/units.hpp"

namespace paceline::models {

/// What a training framework does with the hardware (models/specs/stack/NAME.yaml): kernel choices
/// and overlap switches, and at most six numbers, each with its source.
struct Stack {
  std::string name;
  std::string source;
  std::string nccl;  ///< release of the constants table
};

Stack read_stack(const std::string& name, const std::string& where);

}  // namespace paceline::models
