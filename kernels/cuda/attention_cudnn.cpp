// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_cudnn/attention_cudnn.hpp"

#include <mutex>

#include "kernels/attention_cudnn/runner.hpp"
#include "kernels/cuda/check.hpp"

namespace paceline::kernels::cuda {
namespace {

constexpr DeviceMemory kMemory{
    [] {
      int current = 0;
      check(cudaGetDevice(&current));
      return current;
    },
    [](std::size_t bytes) {
      void* data = nullptr;
      check(cudaMalloc(&data, bytes == 0 ? 1 : bytes));
      return data;
    },
    [](void* data) { cudaFree(data); },
    [](void* data, std::size_t bytes, Stream stream) {
      check(cudaMemsetAsync(data, 0, bytes, static_cast<cudaStream_t>(stream.handle)));
    }};

void run(void (CudnnAttention::*pass)(const Call&, Stream), const Call& call, Stream stream) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  static CudnnAttention attention(cudnn::api(), kMemory);
  (attention.*pass)(call, stream);
}

}  // namespace

void attention_cudnn_forward(const Call& call, Stream stream) {
  run(&CudnnAttention::forward, call, stream);
}
void attention_cudnn_backward(const Call& call, Stream stream) {
  run(&CudnnAttention::backward, call, stream);
}

}  // namespace paceline::kernels::cuda
