// SPDX-License-Identifier: Apache-2.0
// The stand-in's arithmetic: a graph's operations one after another in double, every result rounded
// to the type of its tensor.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "base/numeric/float_formats.hpp"
#include "tests/modules/fake_cudnn.hpp"

namespace fake_cudnn {
namespace {

using Index = std::vector<std::int64_t>;
using paceline::numeric::Bf16;
using paceline::numeric::Fp16;

/// Values in the order of the sizes, the last one fastest.
struct Values {
  Index sizes;
  std::vector<double> data;

  std::size_t at(const Index& index) const {
    std::size_t place = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::int64_t wrapped = sizes[i] == 1 ? 0 : index[i];
      place = place * static_cast<std::size_t>(sizes[i]) + static_cast<std::size_t>(wrapped);
    }
    return place;
  }
};

void for_each(const Index& sizes, const std::function<void(const Index&)>& f) {
  Index index(sizes.size(), 0);
  for (;;) {
    f(index);
    std::size_t i = sizes.size();
    while (i > 0 && ++index[i - 1] == sizes[i - 1]) index[--i] = 0;
    if (i == 0) return;
  }
}

double rounded(Data type, double value) {
  switch (type) {
    case Data::Half:
      return static_cast<double>(Fp16::decode(Fp16::encode(static_cast<float>(value))));
    case Data::Bfloat16:
      return static_cast<double>(Bf16::decode(Bf16::encode(static_cast<float>(value))));
    case Data::Int32:
      return std::trunc(value);
    case Data::Boolean:
      return value != 0 ? 1 : 0;
    case Data::Float:
      return static_cast<double>(static_cast<float>(value));
  }
  return value;
}

double read(Data type, const void* data, std::int64_t i) {
  switch (type) {
    case Data::Half:
      return static_cast<double>(Fp16::decode(static_cast<const std::uint16_t*>(data)[i]));
    case Data::Bfloat16:
      return static_cast<double>(Bf16::decode(static_cast<const std::uint16_t*>(data)[i]));
    case Data::Float:
      return static_cast<double>(static_cast<const float*>(data)[i]);
    case Data::Int32:
      return static_cast<const std::int32_t*>(data)[i];
    case Data::Boolean:
      break;
  }
  throw Refusal{kNotSupported, "booleans in memory"};
}
void write(Data type, void* data, std::int64_t i, double value) {
  const auto number = static_cast<float>(value);
  if (type == Data::Half)
    static_cast<std::uint16_t*>(data)[i] = static_cast<std::uint16_t>(Fp16::encode(number));
  else if (type == Data::Bfloat16)
    static_cast<std::uint16_t*>(data)[i] = static_cast<std::uint16_t>(Bf16::encode(number));
  else if (type == Data::Float)
    static_cast<float*>(data)[i] = number;
  else
    throw Refusal{kNotSupported, "only numbers are written"};
}

std::int64_t offset(const FakeTensor& tensor, const Index& index) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < index.size(); ++i) sum += index[i] * tensor.strides[i];
  return sum;
}

Values loaded(const FakeTensor& tensor, const void* data) {
  need(reinterpret_cast<std::uintptr_t>(data) % (tensor.by_value ? 4 : 16) == 0, "alignment");
  Values values{tensor.sizes, {}};
  for_each(tensor.sizes, [&](const Index& index) {
    values.data.push_back(read(tensor.type, data, offset(tensor, index)));
  });
  return values;
}

double applied(Pointwise mode, double x, double b) {
  switch (mode) {
    case Pointwise::Add:
      return x + b;
    case Pointwise::Multiply:
      return x * b;
    case Pointwise::Divide:
      return x / b;
    case Pointwise::Subtract:
      return x - b;
    case Pointwise::Exp:
      return std::exp(x);
    case Pointwise::Log:
      return std::log(x);
    case Pointwise::Identity:
      return x;
    case Pointwise::GreaterOrEqual:
      return x >= b ? 1 : 0;
    case Pointwise::Index:
    case Pointwise::Select:
      break;
  }
  throw Refusal{kNotSupported, "pointwise mode"};
}

void pointwise(const Node& node, const std::vector<const Values*>& in, Values& y) {
  const Node& how = node.node(Attribute::OperationPointwise);
  const auto mode = how.one<Pointwise>(Attribute::PointwiseMode);
  for_each(y.sizes, [&](const Index& index) {
    const auto value = [&](std::size_t i) { return in[i]->data[in[i]->at(index)]; };
    double& result = y.data[y.at(index)];
    if (mode == Pointwise::Index)
      result = static_cast<double>(
          index[static_cast<std::size_t>(how.one<std::int64_t>(Attribute::PointwiseAxis))]);
    else if (mode == Pointwise::Select)
      result = value(2) != 0 ? value(0) : value(1);
    else
      result = applied(mode, value(0), in.size() > 1 ? value(1) : 0);
  });
}

void matmul(const Values& a, const Values& b, Values& c) {
  const std::int64_t sharing = a.sizes[1] / b.sizes[1];
  for_each(c.sizes, [&](const Index& i) {
    double sum = 0;
    for (std::int64_t k = 0; k < a.sizes[3]; ++k)
      sum += a.data[a.at({i[0], i[1], i[2], k})] * b.data[b.at({i[0], i[1] / sharing, k, i[3]})];
    c.data[c.at(i)] = sum;
  });
}

void reduction(const Node& node, const Values& x, Values& y) {
  const bool adds =
      node.node(Attribute::OperationReduction).one<Reduce>(Attribute::ReductionOperator) ==
      Reduce::Add;
  std::fill(y.data.begin(), y.data.end(), adds ? 0 : -std::numeric_limits<double>::infinity());
  for_each(x.sizes, [&](Index index) {
    const double value = x.data[x.at(index)];
    for (std::size_t i = 0; i < index.size(); ++i) index[i] /= x.sizes[i] / y.sizes[i];
    double& result = y.data[y.at(index)];
    result = adds ? result + value : std::max(result, value);
  });
}

/// The same memory by other sizes and strides.
void reshape(const FakeTensor& from, const FakeTensor& to, const Values& x, Values& y) {
  std::map<std::int64_t, double> memory;
  for_each(from.sizes, [&](const Index& i) { memory[offset(from, i)] = x.data[x.at(i)]; });
  for_each(to.sizes, [&](const Index& i) {
    const auto found = memory.find(offset(to, i));
    need(found != memory.end(), "a view of what is not there");
    y.data[y.at(i)] = found->second;
  });
}

/// Sums in memory of a product: the library adds to them, and clears them itself from 9.6 on.
void check_sums(const Node& operation, const FakeTensor& tensor, const void* data,
                std::size_t version) {
  if (operation.kind != Kind::OperationMatmul || tensor.type != Data::Float || version >= 90600)
    return;
  const Values before = loaded(tensor, data);
  need(std::all_of(before.data.begin(), before.data.end(), [](double x) { return x == 0; }),
       "sums that were not cleared");
}

class Run {
 public:
  Run(const std::map<std::int64_t, void*>& pointers, std::size_t version)
      : pointers_(pointers), version_(version) {}

  void step(const Node& operation) {
    const Ports all = ports(operation);
    std::vector<const Values*> in;
    for (const Node* node : all.reads) in.push_back(&values_of(FakeTensor(*node)));
    const FakeTensor result(*all.writes);
    Values y{result.sizes, std::vector<double>(static_cast<std::size_t>(result.count()))};
    if (operation.kind == Kind::OperationMatmul) matmul(*in[0], *in[1], y);
    if (operation.kind == Kind::OperationPointwise) pointwise(operation, in, y);
    if (operation.kind == Kind::OperationReduction) reduction(operation, *in[0], y);
    if (operation.kind == Kind::OperationReshape)
      reshape(FakeTensor(*all.reads[0]), result, *in[0], y);
    for (double& value : y.data) value = rounded(result.type, value);
    if (!result.is_virtual) store(operation, result, y);
    values_[result.id] = std::move(y);
  }

 private:
  const Values& values_of(const FakeTensor& tensor) {
    const auto found = values_.find(tensor.id);
    if (found != values_.end()) return found->second;
    return values_[tensor.id] = loaded(tensor, pointers_.at(tensor.id));
  }
  void store(const Node& operation, const FakeTensor& tensor, const Values& values) const {
    void* data = pointers_.at(tensor.id);
    check_sums(operation, tensor, data, version_);
    for_each(tensor.sizes, [&](const Index& index) {
      write(tensor.type, data, offset(tensor, index), values.data[values.at(index)]);
    });
  }
  const std::map<std::int64_t, void*>& pointers_;
  std::size_t version_;
  std::map<std::int64_t, Values> values_;
};

}  // namespace

std::vector<std::int64_t> given_ids(const Node& graph) {
  std::set<std::int64_t> ids;
  for (const Descriptor each : graph.all<Descriptor>(Attribute::GraphOperations)) {
    const Ports all = ports(*static_cast<const Node*>(each));
    std::vector<const Node*> tensors = all.reads;
    tensors.push_back(all.writes);
    for (const Node* node : tensors)
      if (const FakeTensor tensor(*node); !tensor.is_virtual) ids.insert(tensor.id);
  }
  return {ids.begin(), ids.end()};
}

void run_graph(const Node& graph, const std::map<std::int64_t, void*>& pointers,
               std::size_t version) {
  Run run(pointers, version);
  for (const Descriptor each : graph.all<Descriptor>(Attribute::GraphOperations))
    run.step(*static_cast<const Node*>(each));
}

}  // namespace fake_cudnn
