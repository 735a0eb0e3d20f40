// SPDX-License-Identifier: Apache-2.0
#include "kernels/launch/launch.hpp"

namespace paceline::kernels {
namespace {

void nothing() {}

void cpu(const Call& call) {
  void (*volatile function)() = nothing;  // read again before each call
  for (std::int64_t i = 0; i < call["count"]; ++i) function();
}

std::vector<Shape> test_shapes() { return {{{"count", 1}}, {{"count", 3}}}; }
std::vector<Shape> bench_shapes() {
  return {{{"count", 1}}, {{"count", 16}}, {{"count", 256}}, {{"count", 1024}}};
}

}  // namespace

std::vector<Operation> launch_operations() {
  return {{"launch",
           "forward",
           "kernels that do nothing",
           {DType::F32},
           [](const Case&) { return std::vector<TensorSpec>(); },
           [](const Case&) { return Work(); },
           test_shapes,
           bench_shapes,
           [](const Case&, Values&) {},
           cpu,
           PACELINE_ON_DEVICE(launch_forward)}};
}

}  // namespace paceline::kernels
