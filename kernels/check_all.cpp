// SPDX-License-Identifier: Apache-2.0
#include "kernels/check_all.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "kernels/check.hpp"
#include "kernels/library.hpp"

namespace paceline::kernels {
namespace {

bool among(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

/// A library that refuses a case has not done it wrong.
void check_one(const BenchCase& c, const Backend& backend, CheckSummary& summary) {
  try {
    const CheckResult result = check(*c.operation, c.c, backend, ++summary.cases);
    if (result.passed) return;
    ++summary.failed;
    summary.text += "WRONG  " + label(c) + ": " + result.problem + "\n";
  } catch (const Unsupported& refused) {
    --summary.cases;
    summary.text += std::string("REFUSED  ") + refused.what() + "\n";
  }
}

}  // namespace

CheckSummary check_all(const Backend& backend, const BenchChoice& choice,
                       const std::function<void(const std::string&)>& about) {
  std::size_t left_out = 0;
  bench_cases(backend, choice, left_out);  // complains of unknown names
  CheckSummary summary;
  for (const Operation& operation : operations()) {
    if (!backend.has(operation) || !chosen(choice, operation)) continue;
    for (const DType type : operation.types) {
      if (!among(choice.types, name_of(type))) continue;
      for (const Shape& shape : operation.test_shapes()) {
        const BenchCase c{&operation, {type, shape}};
        about(label(c));
        check_one(c, backend, summary);
      }
    }
  }
  if (summary.cases == 0)
    throw base::Error("--check",
                      summary.text.empty()
                          ? std::string("no kernel of the choice runs on ") + backend.name
                          : summary.text.substr(0, summary.text.find('\n')));
  summary.text += std::to_string(summary.cases) + " cases on " + backend.name + ", " +
                  std::to_string(summary.failed) + " wrong\n";
  return summary;
}

}  // namespace paceline::kernels
