// SPDX-License-Identifier: Apache-2.0
#include "kernels/check_all.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "kernels/check.hpp"

namespace paceline::kernels {
namespace {

bool among(const std::vector<std::string>& names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

CheckSummary check_all(const Backend& backend, const BenchChoice& choice,
                       const std::function<void(const std::string&)>& about) {
  std::size_t left_out = 0;
  bench_cases(backend, choice, left_out);  // complains of unknown names
  CheckSummary summary;
  for (const Operation& operation : operations()) {
    if (!backend.has(operation) || !among(choice.only, operation.kernel)) continue;
    for (const DType type : operation.types) {
      if (!among(choice.types, name_of(type))) continue;
      for (const Shape& shape : operation.test_shapes()) {
        const BenchCase c{&operation, {type, shape}};
        about(label(c));
        const CheckResult result = check(operation, c.c, backend, ++summary.cases);
        if (result.passed) continue;
        ++summary.failed;
        summary.text += "WRONG  " + label(c) + ": " + result.problem + "\n";
      }
    }
  }
  if (summary.cases == 0)
    throw base::Error("--check", std::string("no kernel of the choice runs on ") + backend.name);
  summary.text += std::to_string(summary.cases) + " cases on " + backend.name + ", " +
                  std::to_string(summary.failed) + " wrong\n";
  return summary;
}

}  // namespace paceline::kernels
