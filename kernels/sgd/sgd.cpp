// SPDX-License-Identifier: Apache-2.0
#include "kernels/sgd/sgd.hpp"

#include "kernels/adamw/step.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels {
namespace {

using numeric::Sgd;
constexpr StepTensors<Sgd> kTensors;
constexpr const char* kStates[] = {"m"};

void reference(const Case&, Values& v) {
  const auto& settings = v[kTensors.settings()];
  const double rate = settings[0], momentum = settings[1], decay = settings[2];
  const bool nesterov = settings[3] >= 0.5;
  for (std::size_t i = 0; i < v[0].size(); ++i) {
    double &w = v[kTensors.weight()][i], &m = v[kTensors.state(0)][i];
    const double g = v[0][i] + decay * w;
    m = momentum * m + g;
    w -= rate * (nesterov ? g + momentum * m : m);
  }
  copy_weights(v, kTensors);
}

}  // namespace

std::vector<Operation> sgd_operations() {
  return {{"sgd",
           "step",
           "gradient descent with momentum, Nesterov's or plain",
           {DType::F32, DType::Bf16, DType::F16},
           [](const Case& c) {
             const std::int64_t count = c.shape["parameters"];
             std::vector<TensorSpec> result = {{"g", Use::In, DType::F32, count}};
             add_step_tensors<Sgd>(c, count, kStates, result);
             return result;
           },
           [](const Case& c) { return step_work<Sgd>(c, 8); },
           step_test_shapes,
           step_bench_shapes,
           reference,
           [](const Call& call) { PACELINE_BY_TYPE(call, step_cpu, Sgd{}); },
           PACELINE_ON_DEVICE(sgd_step)}};
}

}  // namespace paceline::kernels
