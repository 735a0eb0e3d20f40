// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/error.hpp"
#include "kernels/operation.hpp"

/// Kernels that a library does, beside this program's own: "attention-cudnn" is "attention" by
/// cuDNN, with the same tensors, work and reference.
namespace paceline::kernels {

/// A library's answer that it has nothing for a case.
struct Unsupported : base::Error {
  using base::Error::Error;
};

/// Throws base::MissingError in one line where the operation is a library's, and that is not there.
void require_library(const Operation& operation);
/// Empty, or one line why an operation of a library does not do the case: the library is not there,
/// or the case is not one it is asked for.
std::string library_lacks(const Operation& operation, const Case& c);

/// This program's kernel that does the same: of "attention-cudnn" "attention"; null where the
/// operation is this program's already.
const Operation* own_instead(const Operation& operation);

}  // namespace paceline::kernels
