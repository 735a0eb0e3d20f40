// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace paceline::models {

/// What a name in a condition stands for, as text; base::Error for a name there is none of.
using ConditionNames = std::function<std::string(const std::string& name)>;

/// Whether a condition holds: comparisons (< <= > >= == !=) of sums and products (+ - * / %) of
/// numbers, names and 'quoted texts', joined by "and", "or", "not" and brackets:
/// `tp*pp <= 8 and recompute != 'full'`. Texts compare with == and != only. base::Error says where
/// a text is no condition.
bool holds(std::string_view condition, const ConditionNames& value_of);

}  // namespace paceline::models
