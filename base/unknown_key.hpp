// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/error.hpp"

namespace paceline::base {

/// A key nobody asked for. Whoever tries many values tells it from a value that is wrong: it is
/// wrong whatever the value.
struct UnknownKey : Error {
  UnknownKey(const std::string& where, std::string key, std::string better)
      : Error(where, "unknown key", better), path(std::move(key)), hint(std::move(better)) {}
  std::string path;  ///< of the key, with dots
  std::string hint;  ///< what would be right
};

}  // namespace paceline::base
