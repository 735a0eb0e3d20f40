// SPDX-License-Identifier: Apache-2.0
#include "sim/convergence/expression.hpp"

#include <algorithm>
#include <sstream>

#include "base/config.hpp"
#include "base/message.hpp"

namespace paceline::sim::convergence {
namespace {

bool is_operator(std::string_view word) {
  return word == "+" || word == "-" || word == "*" || word == "/";
}
bool is_number(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789.") == std::string_view::npos;
}
int rank_of(std::string_view word) { return word == "*" || word == "/" ? 2 : 1; }

/// Brackets stand by themselves, everything else ends at a space.
std::vector<std::string> words_of(std::string_view text) {
  std::string spaced;
  for (const char c : text)
    spaced += c == '(' || c == ')' ? std::string(" ") + c + " " : std::string(1, c);
  std::istringstream stream(spaced);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

// Dijkstra's shunting yard.
Expression parse_expression(std::string_view text, const std::string& where,
                            const std::vector<std::string>& known) {
  Expression e{std::string(text), {}};
  std::vector<std::string> held;
  const auto fail = [&](const std::string& problem, const std::string& hint) -> void {
    throw base::Error(where, problem, hint);
  };
  const auto release = [&] {
    e.postfix.push_back(held.back());
    held.pop_back();
  };
  bool wants_value = true;
  for (const std::string& word : words_of(text)) {
    if (word == "(" || !is_operator(word)) {
      if (word == ")" ? wants_value : !wants_value)
        fail("'" + word + "' stands where it cannot", "NAME OPERATOR NAME, with spaces between");
    } else if (wants_value) {
      fail("'" + word + "' has nothing before it", "NAME OPERATOR NAME, with spaces between");
    }
    if (word == "(") {
      held.push_back(word);
    } else if (word == ")") {
      while (!held.empty() && held.back() != "(") release();
      if (held.empty()) fail("')' has no '('", "");
      held.pop_back();
    } else if (is_operator(word)) {
      while (!held.empty() && held.back() != "(" && rank_of(held.back()) >= rank_of(word))
        release();
      held.push_back(word);
      wants_value = true;
    } else {
      if (!is_number(word) && std::find(known.begin(), known.end(), word) == known.end())
        fail("unknown result " + base::quote(word), base::suggest(word, known, "one of"));
      e.postfix.push_back(word);
      wants_value = false;
    }
  }
  if (wants_value) fail("ends without a value", "NAME OPERATOR NAME");
  while (!held.empty()) {
    if (held.back() == "(") fail("'(' has no ')'", "");
    release();
  }
  return e;
}

double evaluate(const Expression& expression,
                const std::function<double(const std::string&)>& value) {
  std::vector<double> stack;
  for (const std::string& word : expression.postfix) {
    if (!is_operator(word)) {
      stack.push_back(is_number(word) ? base::parse_number(word, "expression", 0, 1e300)
                                      : value(word));
      continue;
    }
    const double right = stack.back();
    stack.pop_back();
    double& left = stack.back();
    if (word == "+") left += right;
    if (word == "-") left -= right;
    if (word == "*") left *= right;
    if (word == "/") left /= right;
  }
  return stack.back();
}

}  // namespace paceline::sim::convergence
