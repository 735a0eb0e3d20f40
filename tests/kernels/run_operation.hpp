// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/check.hpp"

namespace paceline::kernels {

/// The operation of that name in the table.
const Operation& operation_named(std::string_view kernel, std::string_view pass);

/// Runs it with these inputs (of In and InOut tensors, in order, rounded to the tensors' types) and
/// gives the values of all tensors afterwards.
Values run_operation(std::string_view kernel, std::string_view pass, const Case& c,
                     const Values& inputs, const Backend& backend = cpu_backend());

/// Standard normal numbers, rounded to float.
std::vector<double> normal_values(std::size_t count, std::uint64_t seed, double scale = 1);

/// |a - b| / |a|, of all elements together.
double relative_error(const std::vector<double>& a, const std::vector<double>& b);

/// Bytes of the tensors of these names that the operation writes: what goes on the wire.
std::int64_t output_bytes(const Operation& operation, const Case& c,
                          std::initializer_list<std::string_view> names);

}  // namespace paceline::kernels
