// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_cudnn/attention_cudnn.hpp"

#include "kernels/attention_cudnn/graphs.hpp"

namespace paceline::kernels {

std::vector<Operation> attention_operations();  // kernels/list.def

namespace {

/// cuDNN is free to round P after its division: in rows of few keys that is an error of the whole
/// output's size, where this program's kernels round 1 and less, and divide later.
std::vector<TensorSpec> forward_tensors(const Case& c) {
  std::vector<TensorSpec> specs = attention_operations().front().tensors(c);
  specs.at(kForwardOut).tolerance *= 2;
  return specs;
}

/// Those that there is a graph for.
std::vector<Shape> with_graphs(std::vector<Shape> shapes) {
  std::erase_if(shapes, [](const Shape& s) {
    return !no_attention_graph({DType::Bf16, s}).empty();
  });
  return shapes;
}
std::vector<Shape> test_shapes() {
  return with_graphs(attention_operations().front().test_shapes());
}
std::vector<Shape> bench_shapes() {
  return with_graphs(attention_operations().front().bench_shapes());
}

const std::vector<DType> kHalves = {DType::Bf16, DType::F16};

}  // namespace

std::vector<Operation> attention_cudnn_operations() {
  const std::vector<Operation> own = attention_operations();
  const Operation &forward = own.at(0), &backward = own.at(1);
  return {{"attention-cudnn", "forward", "the same as attention forward, by cuDNN 9", kHalves,
           forward_tensors, forward.work, test_shapes, bench_shapes, forward.reference, nullptr,
           PACELINE_ON_CUDA(attention_cudnn_forward)},
          {"attention-cudnn", "backward", "the same as attention backward, by cuDNN 9", kHalves,
           backward.tensors, backward.work, test_shapes, bench_shapes, backward.reference, nullptr,
           PACELINE_ON_CUDA(attention_cudnn_backward)}};
}

}  // namespace paceline::kernels
