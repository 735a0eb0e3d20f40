// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

namespace paceline::base {

/// A few kilobytes in the public domain: Abraham Lincoln's Gettysburg Address (1863) and Second
/// Inaugural Address (1865), and William Shakespeare's sonnets 18, 29, 116 and 130 (1609).
std::string_view bundled_text();

}  // namespace paceline::base
