// SPDX-License-Identifier: Apache-2.0
// Every operation of every kernel against its double-precision reference.
#include <catch2/catch.hpp>

#include "kernels/check.hpp"

using namespace paceline::kernels;

namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kTakeTurns = true;  // ten times slower: types take turns on the shapes
#else
constexpr bool kTakeTurns = false;
#endif

void check_case(const Operation& operation, const Case& c, const Backend& backend,
                std::uint64_t seeds) {
  INFO(operation.kernel << " " << operation.pass << " " << name_of(c.type) << " " << c.shape.text()
                        << " on " << backend.name);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const CheckResult result = check(operation, c, backend, seed);
    INFO(result.problem);
    CHECK(result.passed);
  }
}

void check_all(const Backend& backend, std::uint64_t seeds) {
  std::size_t turn = 0;
  for (const Operation& operation : operations()) {
    if (!backend.has(operation)) continue;
    for (const Shape& shape : operation.test_shapes()) {
      ++turn;
      for (std::size_t i = 0; i < operation.types.size(); ++i) {
        if (kTakeTurns && i != turn % operation.types.size()) continue;
        check_case(operation, {operation.types[i], shape}, backend, seeds);
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
