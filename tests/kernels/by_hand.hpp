// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "kernels/backend.hpp"
#include "kernels/operation.hpp"

namespace paceline::kernels {

/// The operation; fails the test when there is none.
const Operation& operation_named(std::string_view kernel, std::string_view pass);

/// What all tensors hold after the operation ran on them. `values`: a list per tensor, repeated to
/// the tensor's length; an empty one leaves it unwritten (NaN) or, for scratch, whatever it is.
Values run_by_hand(const Operation& operation, const Case& c, const Backend& backend,
                   const Values& values);

}  // namespace paceline::kernels
