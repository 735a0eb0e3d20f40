// SPDX-License-Identifier: Apache-2.0
// What the stand-in wants of tensors, operations and graphs.
#include <algorithm>
#include <set>

#include "tests/modules/fake_cudnn.hpp"

namespace fake_cudnn {
namespace {

using Sizes = std::vector<std::int64_t>;

bool is_float(Data type) {
  return type == Data::Float || type == Data::Half || type == Data::Bfloat16;
}

/// Each size of the second is that of the first, or 1.
bool repeats(const Sizes& whole, const Sizes& part) {
  if (whole.size() != part.size()) return false;
  for (std::size_t i = 0; i < whole.size(); ++i)
    if (part[i] != whole[i] && part[i] != 1) return false;
  return true;
}

/// [b, h, m, k] times [b, h', k, n], h' dividing h.
void check_matmul(const FakeTensor& a, const FakeTensor& b, const FakeTensor& c) {
  need(a.sizes.size() == 4 && b.sizes.size() == 4 && c.sizes.size() == 4, "four sizes are wanted");
  need(is_float(a.type) && is_float(b.type) && is_float(c.type), "products are of numbers");
  need(a.type != Data::Float || a.is_virtual, "factors in memory are of 16 bits");
  need(a.sizes[0] == b.sizes[0] && a.sizes[1] % b.sizes[1] == 0, "batch or heads of a product");
  need(a.sizes[3] == b.sizes[2], "a product's inner sizes");
  need(c.sizes == Sizes{a.sizes[0], a.sizes[1], a.sizes[2], b.sizes[3]}, "a product's result");
}

void check_types(Pointwise mode, Data compute, const std::vector<FakeTensor>& in,
                 const FakeTensor& y) {
  switch (mode) {
    case Pointwise::Index:
      need(y.type == Data::Int32 && compute == Data::Int32, "indices are int32");
      return;
    case Pointwise::GreaterOrEqual:
      need(y.type == Data::Boolean && in[0].type == in[1].type, "comparisons give booleans");
      return;
    case Pointwise::Select:
      need(in[2].type == Data::Boolean && is_float(y.type), "booleans select");
      return;
    default:
      for (const FakeTensor& x : in)
        need(is_float(x.type) == is_float(y.type), "numbers with indices");
      need(compute == (is_float(y.type) ? Data::Float : Data::Int32), "the type of arithmetic");
  }
}

void check_pointwise(const Node& node) {
  const Node& how = node.node(Attribute::OperationPointwise);
  need(how.kind == Kind::Pointwise, "no pointwise descriptor");
  const auto mode = how.one<Pointwise>(Attribute::PointwiseMode);
  std::vector<FakeTensor> in;
  const Ports all = ports(node);
  for (const Node* read : all.reads) in.emplace_back(*read);
  const FakeTensor y(*all.writes);
  const bool unary = mode == Pointwise::Exp || mode == Pointwise::Log ||
                     mode == Pointwise::Identity || mode == Pointwise::Index;
  need(in.size() == (unary ? 1U : mode == Pointwise::Select ? 3U : 2U), "tensors of an operation");
  need(how.has(Attribute::PointwiseAxis) == (mode == Pointwise::Index),
       "only an index has an axis");
  if (mode == Pointwise::Index) {
    const auto axis = how.one<std::int64_t>(Attribute::PointwiseAxis);
    need(axis >= 0 && axis < static_cast<std::int64_t>(in[0].sizes.size()), "no such axis");
  }
  need(in[0].sizes == y.sizes, "sizes of a pointwise operation");
  for (const FakeTensor& x : in) need(repeats(y.sizes, x.sizes), "sizes that do not repeat");
  check_types(mode, how.one<Data>(Attribute::PointwiseMathPrecision), in, y);
}

void check_reduction(const Node& node) {
  const Node& how = node.node(Attribute::OperationReduction);
  need(how.kind == Kind::Reduction, "no reduction descriptor");
  need(how.one<Data>(Attribute::ReductionComputeType) == Data::Float, "reductions are in fp32");
  const FakeTensor x(node.node(Attribute::OperationReductionX)),
      y(node.node(Attribute::OperationReductionY));
  need(x.sizes.size() == y.sizes.size(), "a reduction's sizes");
  for (std::size_t i = 0; i < x.sizes.size(); ++i)
    need(x.sizes[i] % y.sizes[i] == 0, "a reduction's sizes");
}

void check_reshape(const Node& node) {
  const FakeTensor x(node.node(Attribute::OperationReshapeX)),
      y(node.node(Attribute::OperationReshapeY));
  need(y.is_virtual, "a view is between operations");
  need(x.count() == y.count(), "a view of another number of elements");
}

}  // namespace

FakeTensor::FakeTensor(const Node& node)
    : id(node.one<std::int64_t>(Attribute::TensorUniqueId)),
      type(node.one<Data>(Attribute::TensorDataType)),
      sizes(node.all<std::int64_t>(Attribute::TensorSizes)),
      strides(node.all<std::int64_t>(Attribute::TensorStrides)),
      is_virtual(node.flag(Attribute::TensorIsVirtual)),
      by_value(node.flag(Attribute::TensorIsByValue)) {}

std::int64_t FakeTensor::count() const {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) product *= size;
  return product;
}

void check_tensor(const Node& node) {
  const FakeTensor tensor(node);
  need(tensor.sizes.size() == tensor.strides.size(), "as many strides as sizes are wanted");
  for (std::size_t i = 0; i < tensor.sizes.size(); ++i)
    need(tensor.sizes[i] > 0 && tensor.strides[i] > 0, "sizes and strides are above 0");
  need(!(tensor.is_virtual && tensor.by_value), "virtual and by value");
  need(!tensor.by_value || tensor.count() == 1, "by value is one number");
  const auto alignment = node.one<std::int64_t>(Attribute::TensorAlignment);
  need(alignment > 0 && (alignment & (alignment - 1)) == 0, "alignment is a power of 2");
}

Ports ports(const Node& operation) {
  Ports result{{}, nullptr};
  const auto read = [&](Attribute attribute) {
    if (operation.has(attribute)) result.reads.push_back(&operation.node(attribute));
  };
  for (const Attribute attribute :
       {Attribute::OperationMatmulA, Attribute::OperationMatmulB, Attribute::OperationPointwiseX,
        Attribute::OperationPointwiseB, Attribute::OperationPointwiseT,
        Attribute::OperationReductionX, Attribute::OperationReshapeX})
    read(attribute);
  for (const Attribute attribute : {Attribute::OperationMatmulC, Attribute::OperationPointwiseY,
                                    Attribute::OperationReductionY, Attribute::OperationReshapeY})
    if (operation.has(attribute)) result.writes = &operation.node(attribute);
  for (const Node* node : result.reads) need(node->kind == Kind::Tensor, "no tensor");
  need(result.writes != nullptr && result.writes->kind == Kind::Tensor, "no tensor to write to");
  return result;
}

void check_operation(const Node& node) {
  const Ports all = ports(node);
  need(!FakeTensor(*all.writes).by_value, "a result by value");
  if (node.kind == Kind::OperationMatmul) {
    need(node.node(Attribute::OperationMatmul).kind == Kind::Matmul, "no matmul descriptor");
    check_matmul(FakeTensor(*all.reads[0]), FakeTensor(*all.reads[1]), FakeTensor(*all.writes));
  }
  if (node.kind == Kind::OperationPointwise) check_pointwise(node);
  if (node.kind == Kind::OperationReduction) check_reduction(node);
  if (node.kind == Kind::OperationReshape) check_reshape(node);
}

void check_graph(const Node& node) {
  std::map<std::int64_t, const Node*> by_id;
  std::set<std::int64_t> written, unread;
  const auto know = [&](const Node& tensor) {
    const std::int64_t id = FakeTensor(tensor).id;
    need(by_id.emplace(id, &tensor).first->second == &tensor, "two tensors with one id");
    return id;
  };
  for (const Descriptor each : node.all<Descriptor>(Attribute::GraphOperations)) {
    const Ports all = ports(*static_cast<const Node*>(each));
    for (const Node* read : all.reads) {
      const std::int64_t id = know(*read);
      need(!FakeTensor(*read).is_virtual || written.count(id) > 0, "read before it is written");
      unread.erase(id);
    }
    const std::int64_t id = know(*all.writes);
    need(written.insert(id).second, "written twice");
    if (FakeTensor(*all.writes).is_virtual) unread.insert(id);
  }
  need(unread.empty(), "a virtual tensor that nothing reads");
}

}  // namespace fake_cudnn
