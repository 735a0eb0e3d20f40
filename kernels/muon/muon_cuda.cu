// SPDX-License-Identifier: Apache-2.0
#include "kernels/device_code.hpp"
#include "kernels/muon/muon.hpp"

namespace paceline::kernels::PACELINE_TARGET {
namespace {

using numeric::Muon;
constexpr unsigned kThreads = 256;

/// New momentum, and the squares of u summed by block (always in the same order).
__global__ void __launch_bounds__(kThreads)
    direction(const float* gradient, float* momentum, const Muon* rule, std::int64_t count,
              float* partials) {
  __shared__ float scratch[32];
  const Muon r = *rule;
  float squares = 0;
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * kThreads) {
    const float u = muon_direction(r, gradient[i], momentum[i]);
    squares += u * u;
  }
  squares = block_sum(squares, scratch);
  if (threadIdx.x == 0) partials[blockIdx.x] = squares;
}

/// x = u / (|u| + epsilon); every block sums the same partial sums.
template <class T>
__global__ void __launch_bounds__(kThreads)
    normalise(const float* gradient, const float* momentum, const Muon* rule, std::int64_t count,
              const float* partials, int partial_count, T* x) {
  __shared__ float scratch[32];
  const Muon r = *rule;
  float squares = 0;
  for (int i = static_cast<int>(threadIdx.x); i < partial_count; i += kThreads)
    squares += partials[i];
  const float inverse = 1 / (sqrtf(block_sum(squares, scratch)) + numeric::kNewtonSchulzEpsilon);
  for (std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += std::int64_t{gridDim.x} * kThreads)
    x[i] = T(muon_again(r, gradient[i], momentum[i]) * inverse);
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    apply(const T* update, float* weight, T* copy, const Muon* rule, std::int64_t count) {
  const std::int64_t i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  float w = weight[i];
  muon_apply(*rule, static_cast<float>(update[i]), w);
  weight[i] = w;
  if (copy != nullptr) copy[i] = T(w);
}

template <class T>
void step(const Call& call, Stream stream) {
  const std::int64_t count = call["rows"] * call["columns"];
  const auto blocks = static_cast<unsigned>((count + kThreads - 1) / kThreads);
  const unsigned summing = blocks < kMuonPartialCount ? blocks : kMuonPartialCount;
  const auto* gradient = call.at<const float>(kMuonGradient);
  float *momentum = call.at<float>(kMuonMomentum), *partials = call.at<float>(kMuonPartials);
  const Muon* rule = call.at<const Muon>(kMuonSettings);
  T* copy = call.c.type == DType::F32 ? nullptr : call.at<T>(kMuonCopy);
  launch(direction, summing, kThreads, 0, stream, gradient, momentum, rule, count, partials);
  launch(normalise<T>, summing, kThreads, 0, stream, gradient, momentum, rule, count, partials,
         static_cast<int>(summing), call.at<T>(kMuonOther));
  newton_schulz(call, multiply, stream);
  launch(apply<T>, blocks, kThreads, 0, stream, call.at<T>(kMuonUpdate),
         call.at<float>(kMuonWeight), copy, rule, count);
}

}  // namespace

void muon_step(const Call& call, Stream stream) {
  if (call.c.type == DType::F32) return step<float>(call, stream);
  step<numeric::bf16>(call, stream);
}

}  // namespace paceline::kernels::PACELINE_TARGET
