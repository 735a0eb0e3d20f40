// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <string>
#include <vector>

#include "kernels/backend.hpp"

/// Operations on tensors by name, so that one's outputs are another's inputs.
namespace paceline::kernels {

using Named = std::map<std::string, std::vector<double>>;

/// PACELINE_CHECKs that there is one.
const Operation& operation(std::string_view kernel, std::string_view pass);

/// Of one attention pass.
Case attention_case(DType type, int batch, int heads, int kv_heads, int queries, int keys,
                    int head_dim, int causal);

/// Random values of the operation's inputs.
Named random_inputs(const Operation& operation, const Case& c, std::uint64_t seed);

/// All tensors after the double-precision reference ran on `inputs` (others are 0 before).
Named by_reference(const Operation& operation, const Case& c, const Named& inputs);

/// All tensors after the operation ran on a backend in this process's memory. `shift`: bytes by
/// which tensors begin beyond an aligned address, a multiple of their elements' sizes.
Named on(const Backend& backend, const Operation& operation, const Case& c, const Named& inputs,
         std::size_t shift = 0);

}  // namespace paceline::kernels
