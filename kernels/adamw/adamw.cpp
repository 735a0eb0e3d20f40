// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw/adamw.hpp"

#include <cmath>

#include "kernels/dispatch.hpp"

namespace paceline::kernels {

using numeric::AdamW;

void adamw_reference(const std::vector<double>& gradient, Values& v, StepTensors<AdamW> t) {
  const auto& settings = v[t.settings()];
  const double rate = settings[0], beta1 = settings[1], beta2 = settings[2], epsilon = settings[3],
               decay = settings[4];
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    double &w = v[t.weight()][i], &m = v[t.state(0)][i], &second = v[t.state(1)][i];
    m = beta1 * m + (1 - beta1) * gradient[i];
    second = beta2 * second + (1 - beta2) * gradient[i] * gradient[i];
    const double step = m / settings[5] / (std::sqrt(second / settings[6]) + epsilon);
    w -= rate * step + rate * decay * w;
  }
  copy_weights(v, t);
}

std::vector<Operation> adamw_operations() {
  return {{"adamw",
           "step",
           "AdamW on fp32 weights, with a copy in the case's type",
           {DType::F32, DType::Bf16, DType::F16},
           [](const Case& c) {
             const std::int64_t count = c.shape["parameters"];
             std::vector<TensorSpec> result = {{"g", Use::In, DType::F32, count}};
             add_step_tensors<AdamW>(c, count, kAdamWStates, result);
             return result;
           },
           [](const Case& c) { return step_work<AdamW>(c, kAdamWFlops); },
           step_test_shapes,
           step_bench_shapes,
           [](const Case&, Values& v) { adamw_reference(v[0], v); },
           [](const Call& call) { PACELINE_BY_TYPE(call, step_cpu, AdamW{}); },
           PACELINE_ON_DEVICE(adamw_step)}};
}

}  // namespace paceline::kernels
