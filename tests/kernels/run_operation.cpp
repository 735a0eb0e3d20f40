// SPDX-License-Identifier: Apache-2.0
#include "run_operation.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "base/distributions.hpp"

namespace paceline::kernels {

const Operation& operation_named(std::string_view kernel, std::string_view pass) {
  const auto& all = operations();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Operation& o) {
    return o.kernel == kernel && o.pass == pass;
  });
  INFO(std::string(kernel) + " " + std::string(pass));
  REQUIRE(found != all.end());
  return *found;
}

Values run_operation(std::string_view kernel, std::string_view pass, const Case& c,
                     const Values& inputs, const Backend& backend) {
  const Operation& operation = operation_named(kernel, pass);
  const std::vector<TensorSpec> specs = operation.tensors(c);
  std::vector<Buffer> buffers;
  std::vector<Tensor> tensors;
  std::size_t next = 0;
  for (const TensorSpec& spec : specs) {
    const bool input = spec.use == Use::In || spec.use == Use::InOut;
    std::vector<unsigned char> bytes(
        std::max<std::size_t>(1, static_cast<std::size_t>(spec.count) * bytes_of(spec.type)));
    if (input) {
      REQUIRE(next < inputs.size());
      REQUIRE(inputs[next].size() == static_cast<std::size_t>(spec.count));
    }
    for (std::int64_t i = 0; i < spec.count; ++i)
      set_element(bytes.data(), spec.type, i,
                  input ? inputs[next][static_cast<std::size_t>(i)] : unwritten(spec.type));
    next += input ? 1 : 0;
    buffers.emplace_back(backend, bytes.size());
    backend.to_device(buffers.back().data(), bytes.data(), bytes.size());
    tensors.push_back({buffers.back().data(), spec.type, spec.count});
  }
  REQUIRE(next == inputs.size());
  const Stream stream = backend.make_stream();
  backend.run(operation, {c, tensors}, stream);
  backend.wait(stream);
  backend.drop_stream(stream);
  Values result;
  for (const Tensor& tensor : tensors) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(tensor.count) *
                                     bytes_of(tensor.type));
    backend.to_host(bytes.data(), tensor.data, bytes.size());
    result.emplace_back();
    for (std::int64_t i = 0; i < tensor.count; ++i)
      result.back().push_back(element(bytes.data(), tensor.type, i));
  }
  return result;
}

std::vector<double> normal_values(std::size_t count, std::uint64_t seed, double scale) {
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
