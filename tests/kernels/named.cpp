// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/named.hpp"

#include "base/distributions.hpp"
#include "base/error.hpp"
#include "base/rng.hpp"

namespace paceline::kernels {
namespace {

/// The tensor's values, or zeros where nothing is given for it.
std::vector<double> values_for(const TensorSpec& spec, const Named& inputs) {
  const auto found = inputs.find(spec.name);
  std::vector<double> values(static_cast<std::size_t>(spec.count));
  if (found == inputs.end() || spec.use == Use::Out || spec.use == Use::Scratch) return values;
  PACELINE_CHECK(found->second.size() == values.size());
  return found->second;
}

}  // namespace

const Operation& operation(std::string_view kernel, std::string_view pass) {
  for (const Operation& o : operations()) {
    if (o.kernel == kernel && o.pass == pass) return o;
  }
  PACELINE_CHECK(false);
}

Named random_inputs(const Operation& operation, const Case& c, std::uint64_t seed) {
  base::Rng rng(seed);
  Named result;
  for (const TensorSpec& spec : operation.tensors(c)) {
    if (spec.use != Use::In) continue;
    for (std::int64_t i = 0; i < spec.count; ++i) {
      const double value =
          spec.fill == Fill::Whole
              ? static_cast<double>(rng.below(static_cast<std::uint64_t>(spec.scale)))
              : base::standard_normal(rng);
      result[spec.name].push_back(value);
    }
  }
  return result;
}

Named by_reference(const Operation& operation, const Case& c, const Named& inputs) {
  const std::vector<TensorSpec> specs = operation.tensors(c);
  Values values;
  for (const TensorSpec& spec : specs) values.push_back(values_for(spec, inputs));
  operation.reference(c, values);
  Named result;
  for (std::size_t i = 0; i < specs.size(); ++i) result[specs[i].name] = values[i];
  return result;
}

Named on(const Backend& backend, const Operation& operation, const Case& c, const Named& inputs,
         std::size_t shift) {
  const std::vector<TensorSpec> specs = operation.tensors(c);
  std::vector<Buffer> buffers;
  std::vector<Tensor> tensors;
  for (const TensorSpec& spec : specs) {
    const std::size_t bytes = static_cast<std::size_t>(spec.count) * bytes_of(spec.type);
    buffers.emplace_back(backend, bytes + shift);
    tensors.push_back({static_cast<char*>(buffers.back().data()) + shift, spec.type, spec.count});
    const std::vector<double> values = values_for(spec, inputs);
    for (std::int64_t i = 0; i < spec.count; ++i)
      set_element(tensors.back().data, spec.type, i, values[static_cast<std::size_t>(i)]);
  }
  backend.run(operation, {c, tensors}, {});
  Named result;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    for (std::int64_t k = 0; k < specs[i].count; ++k)
      result[specs[i].name].push_back(element(tensors[i].data, specs[i].type, k));
  }
  return result;
}

Case attention_case(DType type, int batch, int heads, int kv_heads, int queries, int keys,
                    int head_dim, int causal) {
  return {type,
          {{"batch", batch},
           {"heads", heads},
           {"kv_heads", kv_heads},
           {"queries", queries},
           {"keys", keys},
           {"head_dim", head_dim},
           {"causal", causal}}};
}

}  // namespace paceline::kernels
