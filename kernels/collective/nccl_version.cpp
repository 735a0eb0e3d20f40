// SPDX-License-Identifier: Apache-2.0
#include "kernels/collective/nccl.hpp"

namespace paceline::kernels {

std::string nccl_version_text(int version) {
  const int major = version < 10000 ? version / 1000 : version / 10000;
  const int minor = version < 10000 ? version / 100 % 10 : version / 100 % 100;
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(version % 100);
}

}  // namespace paceline::kernels
