// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "kernels/attention/blocks.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

bool for_tensor_cores(const Call& call) {
  const std::int64_t head_dim = call["head_dim"];
  return (call.c.type == DType::Bf16 || call.c.type == DType::F16) &&
         (head_dim == 64 || head_dim == 128);
}

}  // namespace

unsigned block_count(int length, int tile_rows, int heads, int batch) {
  const std::int64_t tiles = (std::int64_t{length} + tile_rows - 1) / tile_rows;
  const double blocks = static_cast<double>(tiles) * heads * batch;
  if (blocks > 0x7fffffff)
    throw base::Error("attention", "more than 2^31 - 1 blocks", "smaller batches need fewer");
  return static_cast<unsigned>(blocks);
}

void attention_forward(const Call& call, Stream stream) {
  for_tensor_cores(call) ? attention_flash_forward(call, stream)
                         : attention_plain_forward(call, stream);
}
void attention_backward(const Call& call, Stream stream) {
  for_tensor_cores(call) ? attention_flash_backward(call, stream)
                         : attention_plain_backward(call, stream);
}

}  // namespace paceline::kernels::PACELINE_TARGET
