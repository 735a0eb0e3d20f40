// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "base/config.hpp"
#include "base/error.hpp"

/// What every fuzz target of a reader checks. A new target is one file `NAME_fuzz.cpp` beside this
/// one that defines LLVMFuzzerTestOneInput, and one folder corpus/NAME/ of inputs.
namespace paceline::fuzz {

/// Small limits keep an input that multiplies itself (aliases) from costing seconds.
inline constexpr base::Limits kLimits{.bytes = 1u << 20, .depth = 32, .nodes = 2'000};

/// Runs `read`; base::Error is the only way out besides a result, and its message is one line.
template <class Read>
void only_clear_errors(Read read) {
  try {
    read();
  } catch (const base::Error& e) {
    const std::string_view message = e.what();
    PACELINE_CHECK(!message.empty() && message.size() < 4000);
    for (const char c : message) PACELINE_CHECK(c < 0 || (c >= 0x20 && c != 0x7F));
  }
}

}  // namespace paceline::fuzz
