// SPDX-License-Identifier: Apache-2.0
// Every operation of every kernel against its double-precision reference.
#include <catch2/catch.hpp>

#include "kernels/check.hpp"

using namespace paceline::kernels;

namespace {

void check_all(const Backend& backend, std::uint64_t seeds) {
  for (const Operation& operation : operations()) {
    if (!backend.has(operation)) continue;
    for (const DType type : operation.types) {
      for (const Shape& shape : operation.test_shapes()) {
        INFO(operation.kernel << " " << operation.pass << " " << name_of(type) << " "
                              << shape.text() << " on " << backend.name);
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
          const CheckResult result = check(operation, {type, shape}, backend, seed);
          INFO(result.problem);
          CHECK(result.passed);
        }
      }
    }
  }
}

}  // namespace

TEST_CASE("every operation meets its reference on the processor", "[kernels]") {
  check_all(cpu_backend(), 2);
}

TEST_CASE("every operation meets its reference in the SIMT shim", "[kernels]") {
  check_all(simt_backend(), 1);
}
