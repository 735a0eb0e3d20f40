// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/adamw/step.hpp"
#include "kernels/device_code.hpp"
#include "kernels/vectors.hpp"

namespace paceline::kernels::PACELINE_TARGET {

/// What a step changes, and its rule, as kernels take them.
template <class Rule, class T>
struct Step {
  const Rule* rule;
  StepPointers<Rule, T> at;
  bool aligned;  ///< vectors of four may be read and written

  Step(const Call& call, StepTensors<Rule> t = {})
      : rule(call.at<Rule>(t.settings())), at(call, t), aligned(all_aligned()) {}

  /// Parameters i … i + 3, of which `valid` exist, whose gradients are the four given.
  __device__ void four(std::int64_t i, int valid, const float* gradients) const {
    if (aligned && i % 4 == 0 && valid >= 4) return vector(i, gradients);
    for (int k = 0; k < 4 && k < valid; ++k) single(i + k, gradients[k]);
  }

 private:
  bool all_aligned() const {
    const auto fine = [](const void* data, std::size_t bytes) {
      return reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
    };
    bool result = fine(at.weight, 16) && fine(at.copy, 4 * sizeof(T));
    for (const float* state : at.states) result = result && fine(state, 16);
    return result;
  }
  __device__ void single(std::int64_t i, float gradient) const {
    float states[Rule::kStates], weight = at.weight[i];
    PACELINE_UNROLL
    for (int s = 0; s < Rule::kStates; ++s) states[s] = at.states[s][i];
    update(*rule, gradient, weight, states);
    PACELINE_UNROLL
    for (int s = 0; s < Rule::kStates; ++s) at.states[s][i] = states[s];
    at.weight[i] = weight;
    if (at.copy != nullptr) at.copy[i] = T(weight);
  }
  __device__ void vector(std::int64_t i, const float* gradients) const {
    using Four = Vector<float, 4>;
    const Rule r = *rule;
    auto weight = *reinterpret_cast<const Four*>(at.weight + i);
    Four states[Rule::kStates];
    PACELINE_UNROLL
    for (int s = 0; s < Rule::kStates; ++s)
      states[s] = *reinterpret_cast<const Four*>(at.states[s] + i);
    PACELINE_UNROLL
    for (int k = 0; k < 4; ++k) {
      float own[Rule::kStates];
      PACELINE_UNROLL
      for (int s = 0; s < Rule::kStates; ++s) own[s] = states[s].at[k];
      update(r, gradients[k], weight.at[k], own);
      PACELINE_UNROLL
      for (int s = 0; s < Rule::kStates; ++s) states[s].at[k] = own[s];
    }
    PACELINE_UNROLL
    for (int s = 0; s < Rule::kStates; ++s) *reinterpret_cast<Four*>(at.states[s] + i) = states[s];
    *reinterpret_cast<Four*>(at.weight + i) = weight;
    if (at.copy != nullptr) write_floats<4>(weight.at, at.copy + i, 4, true);
  }
};

constexpr unsigned kStepThreads = 256;

/// Four parameters per thread.
template <class Rule, class T>
__global__ void __launch_bounds__(kStepThreads)
    step(const float* gradient, std::int64_t count, bool gradient_aligned, Step<Rule, T> s) {
  const std::int64_t i = (std::int64_t{blockIdx.x} * kStepThreads + threadIdx.x) * 4;
  if (i >= count) return;
  const int valid = count - i < 4 ? static_cast<int>(count - i) : 4;
  float own[4];
  read_floats<4>(gradient + i, valid, gradient_aligned, own);
  s.four(i, valid, own);
}

template <class T, class Rule>
void launch_step(const Call& call, Stream stream, Rule) {
  const std::int64_t count = call["parameters"];
  const auto blocks = static_cast<unsigned>((count + 4 * kStepThreads - 1) / (4 * kStepThreads));
  launch(step<Rule, T>, blocks, kStepThreads, 0, stream, call.at<float>(0), count,
         rows_aligned<float>(call.at<float>(0), 4, 4), Step<Rule, T>(call));
}

}  // namespace paceline::kernels::PACELINE_TARGET
