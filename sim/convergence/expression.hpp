// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::sim::convergence {

/// "(a - b) / (c - d)": names, numbers, + - * / and brackets, with spaces between them.
struct Expression {
  std::string text;
  std::vector<std::string> postfix;  ///< words in the order of evaluation
};
/// base::Error at `where` for anything else; `known` says whether a name exists.
Expression parse_expression(std::string_view text, const std::string& where,
                            const std::vector<std::string>& known);
double evaluate(const Expression& expression,
                const std::function<double(const std::string&)>& value);

}  // namespace paceline::sim::convergence
