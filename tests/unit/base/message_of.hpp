// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/error.hpp"

namespace tests {

/// What the user would read: the message of the base::Error that `act` throws, "" without one.
template <class Act>
std::string message_of(Act act) {
  try {
    act();
  } catch (const paceline::base::Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace tests
