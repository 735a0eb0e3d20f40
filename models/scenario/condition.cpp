// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/condition.hpp"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <variant>

#include "base/error.hpp"
#include "base/message.hpp"

namespace paceline::models {
namespace {

using Operand = std::variant<double, std::string>;
constexpr int kDeepest = 50;

bool word_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool word_part(char c) {
  return word_start(c) || std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.';
}

/// Reads and evaluates at once, by recursive descent.
class ConditionReader {
 public:
  ConditionReader(std::string_view text, const ConditionNames& value_of)
      : text_(text), value_of_(value_of) {}

  bool whole() {
    const bool value = any();
    blanks();
    if (at_ < text_.size()) fail("more after the condition");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    throw base::Error("--where " + base::quote(text_),
                      problem + " at column " + std::to_string(at_ + 1),
                      "for example \"tp*pp <= 8 and micro > 1\"");
  }
  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  /// Takes `sign` if it comes next; of a word all of it.
  bool takes(std::string_view sign) {
    blanks();
    if (text_.substr(at_, sign.size()) != sign) return false;
    const std::size_t after = at_ + sign.size();
    if (word_start(sign[0]) && after < text_.size() && word_part(text_[after])) return false;
    at_ = after;
    return true;
  }
  bool any() {
    bool value = every();
    while (takes("or") || takes("||")) value = every() || value;
    return value;
  }
  bool every() {
    bool value = one();
    while (takes("and") || takes("&&")) value = one() && value;
    return value;
  }
  bool one() {
    if (++depth_ > kDeepest) fail("too deeply nested");
    bool value = false;
    if (takes("not")) {
      value = !one();
    } else if (const std::size_t start = at_; takes("(")) {
      // A bracket holds a condition or a number: what follows it tells.
      value = bracket(start);
    } else {
      value = comparison();
    }
    --depth_;
    return value;
  }
  bool bracket(std::size_t start) {
    int open = 1;
    std::size_t end = at_;
    bool compares = false;
    for (; end < text_.size() && open > 0; ++end) {
      if (text_[end] == '(') ++open;
      if (text_[end] == ')') --open;
      compares |= text_[end] == '<' || text_[end] == '>' || text_[end] == '=';
    }
    if (!compares) {
      at_ = start;
      return comparison();
    }
    const bool value = any();
    if (!takes(")")) fail("a ')' is missing");
    return value;
  }
  bool comparison() {
    const Operand left = sum();
    for (const std::string_view sign : {"<=", ">=", "==", "!=", "<", ">"}) {
      if (takes(sign)) return compare(left, sign, sum());
    }
    fail("a comparison is missing");
  }
  bool compare(const Operand& a, std::string_view sign, const Operand& b) const {
    if (sign == "==") return a == b;
    if (sign == "!=") return a != b;
    const double x = number(a), y = number(b);
    return sign == "<=" ? x <= y : sign == ">=" ? x >= y : sign == "<" ? x < y : x > y;
  }
  double number(const Operand& operand) const {
    if (const auto* value = std::get_if<double>(&operand)) return *value;
    fail(base::quote(std::get<std::string>(operand)) + " is no number");
  }
  double divisor() {
    const double by = number(factor());
    if (by == 0) fail("divides by 0");
    return by;
  }
  Operand sum() {
    Operand value = product();
    while (true) {
      if (takes("+")) {
        value = number(value) + number(product());
      } else if (takes("-")) {
        value = number(value) - number(product());
      } else {
        return value;
      }
    }
  }
  Operand product() {
    Operand value = factor();
    while (true) {
      if (takes("*")) {
        value = number(value) * number(factor());
      } else if (takes("/")) {
        value = number(value) / divisor();
      } else if (takes("%")) {
        value = std::fmod(number(value), divisor());
      } else {
        return value;
      }
    }
  }
  Operand factor() {
    if (++depth_ > kDeepest) fail("too deeply nested");
    blanks();
    Operand value;
    if (takes("-")) {
      value = -number(factor());
    } else if (takes("(")) {
      value = sum();
      if (!takes(")")) fail("a ')' is missing");
    } else if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      value = quoted();
    } else {
      value = named();
    }
    --depth_;
    return value;
  }
  Operand quoted() {
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) fail("the quote is not closed");
    std::string value(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return value;
  }
  /// A number, or a name and what it stands for.
  Operand named() {
    std::size_t end = at_;
    if (end < text_.size() && word_start(text_[end])) {
      while (end < text_.size() && word_part(text_[end])) ++end;
      const std::string name(text_.substr(at_, end - at_));
      std::string value = value_of_(name);
      at_ = end;
      return as_operand(std::move(value));
    }
    const std::string rest(text_.substr(at_));
    char* stop = nullptr;
    const double value = std::strtod(rest.c_str(), &stop);
    if (stop == rest.c_str() || !std::isfinite(value)) fail("a number or name is missing");
    at_ += static_cast<std::size_t>(stop - rest.c_str());
    return value;
  }
  static Operand as_operand(std::string value) {
    char* stop = nullptr;
    const double parsed = std::strtod(value.c_str(), &stop);
    if (!value.empty() && *stop == '\0' && std::isfinite(parsed)) return parsed;
    return value;
  }

  std::string_view text_;
  const ConditionNames& value_of_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

bool holds(std::string_view condition, const ConditionNames& value_of) {
  return ConditionReader(condition, value_of).whole();
}

}  // namespace paceline::models
