// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstring>

#include "base/numeric/optimizers.hpp"
#include "kernels/operation.hpp"

/// Steps of optimizers that look at one parameter alone (adamw, sgd; forge uses the same update).
/// Weights and states are fp32 and gradients too, as the weight-gradient products leave them. Cases
/// of another type also write the weights once more in it: what the next forward reads.
namespace paceline::kernels {

/// Tensors: the gradient's `first` ones, then weight, states, settings and, unless the case is
/// fp32, copy.
template <class Rule>
struct StepTensors {
  std::size_t first = 1;
  std::size_t weight() const { return first; }
  std::size_t state(int i) const { return first + 1 + static_cast<std::size_t>(i); }
  std::size_t settings() const { return state(Rule::kStates); }
  std::size_t copy() const { return settings() + 1; }
};
template <class Rule>
constexpr std::int64_t kSettings = sizeof(Rule) / sizeof(float);

/// From host memory.
template <class Rule>
Rule settings_at(const float* data) {
  Rule result;
  std::memcpy(&result, data, sizeof result);
  return result;
}

constexpr double kStepTolerance = 2e-5;

/// Appends weight, states named `names`, settings and copy for `count` parameters. States are
/// non-negative, as second moments are.
template <class Rule>
void add_step_tensors(const Case& c, std::int64_t count, const char* const* names,
                      std::vector<TensorSpec>& to) {
  to.push_back({"w", Use::InOut, DType::F32, count, Fill::Normal, 1, kStepTolerance});
  for (int i = 0; i < Rule::kStates; ++i)
    to.push_back({names[i], Use::InOut, DType::F32, count, Fill::Uniform, 1, kStepTolerance});
  to.push_back({"settings", Use::In, DType::F32, kSettings<Rule>, Fill::Uniform, 1});
  if (c.type != DType::F32)
    to.push_back({"copy", Use::Out, c.type, count, Fill::Normal, 1, kStepTolerance});
}

/// Bytes of a step per parameter besides its gradient.
template <class Rule>
double step_bytes(const Case& c) {
  const double copy = c.type == DType::F32 ? 0 : static_cast<double>(bytes_of(c.type));
  return 8.0 * (1 + Rule::kStates) + copy;
}

/// Pointers of a call to what a step changes.
template <class Rule, class T>
struct StepPointers {
  float* weight;
  float* states[Rule::kStates];
  T* copy;  ///< null in fp32

  explicit StepPointers(const Call& call, StepTensors<Rule> t = {})
      : weight(call.at<float>(t.weight())),
        copy(call.c.type == DType::F32 ? nullptr : call.at<T>(t.copy())) {
    for (int i = 0; i < Rule::kStates; ++i) states[i] = call.at<float>(t.state(i));
  }
};

/// Parameters first up to first + count with their gradients, on the host. Copies are rounded a few
/// thousand at a time, from the first level of cache: both loops are then simple enough for
/// vectors.
template <class Rule, class T>
void step_range(const Rule& rule, const float* gradient, const StepPointers<Rule, T>& p,
                std::int64_t first, std::int64_t count) {
  constexpr std::int64_t kPart = 2048;
  for (std::int64_t part = 0; part < count; part += kPart) {
    const std::int64_t n = count - part < kPart ? count - part : kPart;
    const float* g = gradient + part;
    float *w = p.weight + first + part, *at[Rule::kStates];
    for (int k = 0; k < Rule::kStates; ++k) at[k] = p.states[k] + first + part;
    for (std::int64_t i = 0; i < n; ++i) {
      float states[Rule::kStates];
      for (int k = 0; k < Rule::kStates; ++k) states[k] = at[k][i];
      update(rule, g[i], w[i], states);
      for (int k = 0; k < Rule::kStates; ++k) at[k][i] = states[k];
    }
    if constexpr (!std::is_same_v<T, float>) {
      T* copy = p.copy + first + part;
      for (std::int64_t i = 0; i < n; ++i) copy[i] = T(w[i]);
    }
  }
}

template <class T, class Rule>
void step_cpu(const Call& call, Rule) {
  const auto rule = settings_at<Rule>(call.at<float>(StepTensors<Rule>{}.settings()));
  step_range(rule, call.at<float>(0), StepPointers<Rule, T>(call), 0, call["parameters"]);
}

/// Copies the updated weights where the case has a copy; for references.
template <class Rule>
void copy_weights(Values& v, StepTensors<Rule> t = {}) {
  if (v.size() > t.copy()) v[t.copy()] = v[t.weight()];
}

inline std::vector<Shape> step_test_shapes() {
  return {{{"parameters", 1}}, {{"parameters", 7}}, {{"parameters", 2500}}};
}
inline std::vector<Shape> step_bench_shapes() {
  return {{{"parameters", 1 << 16}},
          {{"parameters", 1 << 20}},
          {{"parameters", 1 << 24}},
          {{"parameters", 1 << 28}}};
}

template <class Rule>
Work step_work(const Case& c, double flops) {
  const auto parameters = static_cast<double>(c.shape["parameters"]);
  return {flops * parameters, parameters * (4 + step_bytes<Rule>(c))};
}

}  // namespace paceline::kernels
