// SPDX-License-Identifier: Apache-2.0
#include "kernels/operation.hpp"

namespace paceline::kernels {

#define PACELINE_KERNEL(name, summary) std::vector<Operation> name##_operations();
#include "kernels/list.def"
#undef PACELINE_KERNEL

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> result;
    const auto append = [&](std::vector<Operation> more) {
      result.insert(result.end(), more.begin(), more.end());
    };
#define PACELINE_KERNEL(name, summary) append(name##_operations());
#include "kernels/list.def"
#undef PACELINE_KERNEL
    return result;
  }();
  return all;
}

}  // namespace paceline::kernels
