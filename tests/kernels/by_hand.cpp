// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/by_hand.hpp"

#include <catch2/catch.hpp>
#include <limits>

namespace paceline::kernels {

const Operation& operation_named(std::string_view kernel, std::string_view pass) {
  for (const Operation& o : operations()) {
    if (o.kernel == kernel && o.pass == pass) return o;
  }
  FAIL("no operation " << kernel << " " << pass);
  throw 0;  // never reached
}

Values run_by_hand(const Operation& operation, const Case& c, const Backend& backend,
                   const Values& values) {
  const std::vector<TensorSpec> specs = operation.tensors(c);
  REQUIRE(values.size() == specs.size());
  std::vector<Buffer> buffers;
  std::vector<Tensor> tensors;
  for (std::size_t t = 0; t < specs.size(); ++t) {
    const TensorSpec& spec = specs[t];
    std::vector<unsigned char> bytes(static_cast<std::size_t>(spec.count) * bytes_of(spec.type));
    for (std::int64_t i = 0; i < spec.count; ++i) {
      const std::vector<double>& from = values[t];
      set_element(bytes.data(), spec.type, i,
                  from.empty() ? std::numeric_limits<double>::quiet_NaN()
                               : from[static_cast<std::size_t>(i) % from.size()]);
    }
    buffers.emplace_back(backend, bytes.size());
    backend.to_device(buffers.back().data(), bytes.data(), bytes.size());
    tensors.push_back({buffers.back().data(), spec.type, spec.count});
  }
  const Stream stream = backend.make_stream();
  backend.run(operation, {c, tensors}, stream);
  backend.wait(stream);
  backend.drop_stream(stream);
  Values result(specs.size());
  for (std::size_t t = 0; t < specs.size(); ++t) {
    std::vector<unsigned char> bytes(static_cast<std::size_t>(specs[t].count) *
                                     bytes_of(specs[t].type));
    backend.to_host(bytes.data(), tensors[t].data, bytes.size());
    for (std::int64_t i = 0; i < specs[t].count; ++i)
      result[t].push_back(element(bytes.data(), specs[t].type, i));
  }
  return result;
}

}  // namespace paceline::kernels
