// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/codecs.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/distributions.hpp"

namespace paceline::kernels {

Values run_codec(std::string_view kernel, std::string_view pass, const Case& c,
                 const Values& inputs, const Backend& backend) {
  const Operation& operation = operation_named(kernel, pass);
  Values all;
  std::size_t next = 0;
  for (const TensorSpec& spec : operation.tensors(c)) {
    all.emplace_back();
    if (spec.use == Use::Out || spec.use == Use::Scratch) continue;
    REQUIRE(next < inputs.size());
    REQUIRE(inputs[next].size() == static_cast<std::size_t>(spec.count));
    all.back() = inputs[next++];
  }
  REQUIRE(next == inputs.size());
  return run_by_hand(operation, c, backend, all);
}

std::vector<double> normal_floats(std::size_t count, std::uint64_t seed, double scale) {
  base::Rng rng(seed);
  std::vector<double> result(count);
  for (double& value : result)
    value = static_cast<double>(static_cast<float>(base::standard_normal(rng) * scale));
  return result;
}

double relative_error(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double errors = 0, squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    errors += (a[i] - b[i]) * (a[i] - b[i]);
    squares += a[i] * a[i];
  }
  return std::sqrt(errors / squares);
}

std::int64_t output_bytes(const Operation& operation, const Case& c,
                          std::initializer_list<std::string_view> names) {
  std::int64_t bytes = 0;
  std::size_t found = 0;
  for (const TensorSpec& spec : operation.tensors(c)) {
    if (std::find(names.begin(), names.end(), spec.name) == names.end()) continue;
    REQUIRE((spec.use == Use::Out || spec.use == Use::InOut));
    bytes += spec.count * static_cast<std::int64_t>(bytes_of(spec.type));
    ++found;
  }
  REQUIRE(found == names.size());
  return bytes;
}

}  // namespace paceline::kernels
