// SPDX-License-Identifier: Apache-2.0
#include "kernels/cudnn/graph.hpp"

namespace paceline::kernels::cudnn {

Sizes packed_strides(const Sizes& sizes) {
  Sizes strides{};
  std::int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= sizes[i];
  }
  return strides;
}

int GraphBuilder::add(const GraphTensor& tensor) {
  graph_.tensors.push_back(tensor);
  return static_cast<int>(graph_.tensors.size()) - 1;
}

int GraphBuilder::memory(Data type, const Sizes& sizes, const Sizes& strides) {
  return add({type, sizes, strides, Place::Memory, 0});
}
int GraphBuilder::between(Data type, const Sizes& sizes) {
  return add({type, sizes, packed_strides(sizes), Place::Between, 0});
}
int GraphBuilder::number(Data type, double value) {
  return add({type, {1, 1, 1, 1}, {1, 1, 1, 1}, Place::Value, value});
}

void GraphBuilder::matmul(int x, int b, int y) {
  GraphOperation operation;
  operation.x = x, operation.b = b, operation.y = y;
  graph_.operations.push_back(operation);
}
int GraphBuilder::matmul(int x, int b, const Sizes& sizes, Data type) {
  const int y = between(type, sizes);
  matmul(x, b, y);
  return y;
}

void GraphBuilder::pointwise(Pointwise mode, int x, int b, int y) {
  GraphOperation operation;
  operation.deed = Deed::Pointwise;
  operation.pointwise = mode;
  operation.x = x, operation.b = b, operation.y = y;
  // Indices stay whole numbers, and what compares them answers in booleans.
  if (at(y).type == Data::Int32 || at(y).type == Data::Boolean) operation.compute = at(y).type;
  graph_.operations.push_back(operation);
}
int GraphBuilder::pointwise(Pointwise mode, int x, int b, Data type) {
  const int y = between(type, at(x).sizes);
  pointwise(mode, x, b, y);
  return y;
}

int GraphBuilder::index(int x, int axis) {
  const int y = pointwise(Pointwise::Index, x, -1, Data::Int32);
  graph_.operations.back().axis = axis;
  return y;
}

int GraphBuilder::select(int x, int b, int t) {
  const int y = pointwise(Pointwise::Select, x, b);
  graph_.operations.back().t = t;
  return y;
}

void GraphBuilder::reduce(Reduce how, int x, int y) {
  GraphOperation operation;
  operation.deed = Deed::Reduction;
  operation.reduce = how;
  operation.x = x, operation.y = y;
  graph_.operations.push_back(operation);
}
int GraphBuilder::reduce(Reduce how, int x, const Sizes& sizes) {
  const int y = between(Data::Float, sizes);
  reduce(how, x, y);
  return y;
}

int GraphBuilder::transposed(int x, Data type) {
  GraphTensor result = at(x);
  result.type = type;
  result.place = Place::Between;
  std::swap(result.sizes[2], result.sizes[3]);
  std::swap(result.strides[2], result.strides[3]);
  GraphOperation operation;
  operation.deed = Deed::Reshape;
  operation.x = x;
  operation.y = add(result);
  graph_.operations.push_back(operation);
  return operation.y;
}

}  // namespace paceline::kernels::cudnn
