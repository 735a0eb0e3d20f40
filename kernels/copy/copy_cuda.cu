// SPDX-License-Identifier: Apache-2.0
#include "kernels/copy/copy.hpp"
#include "kernels/device_code.hpp"

namespace paceline::kernels::PACELINE_TARGET {

void copy_forward(const Call& call, Stream stream) {
  copy_async(call.at<void>(1), call.at<void>(0), static_cast<std::size_t>(call["bytes"]), stream);
}

}  // namespace paceline::kernels::PACELINE_TARGET
