// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>

#include "kernels/check.hpp"
#include "tests/kernels/by_hand.hpp"

namespace paceline::kernels {

/// Runs the operation with these inputs (of In and InOut tensors, in order) and gives the values of
/// all tensors afterwards.
Values run_codec(std::string_view kernel, std::string_view pass, const Case& c,
                 const Values& inputs, const Backend& backend = cpu_backend());

/// Normal numbers of standard deviation `scale`, rounded to float.
std::vector<double> normal_floats(std::size_t count, std::uint64_t seed, double scale = 1);

/// |a - b| / |a|, of all elements together.
double relative_error(const std::vector<double>& a, const std::vector<double>& b);

/// Bytes of the tensors of these names that the operation writes: what goes on the wire.
std::int64_t output_bytes(const Operation& operation, const Case& c,
                          std::initializer_list<std::string_view> names);

}  // namespace paceline::kernels
