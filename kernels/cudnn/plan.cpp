// SPDX-License-Identifier: Apache-2.0
#include "kernels/cudnn/plan.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "kernels/library.hpp"

namespace paceline::kernels::cudnn {
namespace {

/// cuDNN's engines with tensor cores want it; allocations have it.
constexpr std::int64_t kAlignment = 16;
/// Engines that are tried, the fastest first by cuDNN's own estimate.
constexpr std::int64_t kMostEngines = 16;

/// Makes, fills and finishes descriptors.
class Maker {
 public:
  Maker(const Api& api, std::string what) : api_(api), what_(std::move(what)) {}

  Owned make(Kind kind) const {
    Descriptor made = nullptr;
    check(api_, api_.BackendCreateDescriptor(kind, &made), what_);
    return Owned(made, DropDescriptor{&api_});
  }
  template <class T>
  void set(const Owned& of, Attribute attribute, Type type, std::span<const T> values) const {
    check(api_,
          api_.BackendSetAttribute(of.get(), attribute, type,
                                   static_cast<std::int64_t>(values.size()), values.data()),
          what_ + ": attribute " + std::to_string(static_cast<int>(attribute)));
  }
  template <class T>
  void set(const Owned& of, Attribute attribute, Type type, const T& value) const {
    set(of, attribute, type, std::span<const T>(&value, 1));
  }
  void finish(const Owned& of) const { check(api_, api_.BackendFinalize(of.get()), what_); }
  const Api& api() const { return api_; }
  const std::string& what() const { return what_; }

 private:
  const Api& api_;
  std::string what_;
};

std::int64_t id_of(std::size_t tensor) { return static_cast<std::int64_t>(tensor) + 1; }

Owned make_tensor(const Maker& m, const GraphTensor& tensor, std::int64_t id) {
  Owned made = m.make(Kind::Tensor);
  m.set(made, Attribute::TensorUniqueId, Type::Int64s, id);
  m.set(made, Attribute::TensorDataType, Type::DataTypes, tensor.type);
  m.set<std::int64_t>(made, Attribute::TensorSizes, Type::Int64s, tensor.sizes);
  m.set<std::int64_t>(made, Attribute::TensorStrides, Type::Int64s, tensor.strides);
  m.set(made, Attribute::TensorAlignment, Type::Int64s, kAlignment);
  m.set(made, Attribute::TensorIsVirtual, Type::Booleans, tensor.place == Place::Between);
  m.set(made, Attribute::TensorIsByValue, Type::Booleans, tensor.place == Place::Value);
  m.finish(made);
  return made;
}

/// The names of what describes an operation, and of the operation itself.
struct Names {
  Kind how, operation;
  Attribute description, x, b, y;
};
constexpr Names kMatmul{Kind::Matmul,
                        Kind::OperationMatmul,
                        Attribute::OperationMatmul,
                        Attribute::OperationMatmulA,
                        Attribute::OperationMatmulB,
                        Attribute::OperationMatmulC};
constexpr Names kPointwise{Kind::Pointwise,
                           Kind::OperationPointwise,
                           Attribute::OperationPointwise,
                           Attribute::OperationPointwiseX,
                           Attribute::OperationPointwiseB,
                           Attribute::OperationPointwiseY};
constexpr Names kReduction{Kind::Reduction,
                           Kind::OperationReduction,
                           Attribute::OperationReduction,
                           Attribute::OperationReductionX,
                           Attribute::OperationReductionX,  // has no b
                           Attribute::OperationReductionY};

Owned make_description(const Maker& m, const GraphOperation& o, const Names& names) {
  Owned made = m.make(names.how);
  switch (o.deed) {
    case Deed::Matmul:
      m.set(made, Attribute::MatmulComputeType, Type::DataTypes, o.compute);
      break;
    case Deed::Pointwise:
      m.set(made, Attribute::PointwiseMode, Type::PointwiseModes, o.pointwise);
      m.set(made, Attribute::PointwiseMathPrecision, Type::DataTypes, o.compute);
      if (o.pointwise == Pointwise::Index)
        m.set(made, Attribute::PointwiseAxis, Type::Int64s, std::int64_t{o.axis});
      break;
    case Deed::Reduction:
      m.set(made, Attribute::ReductionOperator, Type::ReductionOperators, o.reduce);
      m.set(made, Attribute::ReductionComputeType, Type::DataTypes, o.compute);
      break;
    case Deed::Reshape:
      PACELINE_CHECK(false);
  }
  m.finish(made);
  return made;
}

class DescriptorMaker {
 public:
  DescriptorMaker(const Maker& m, const Graph& graph, std::vector<Owned>& parts)
      : m_(m), parts_(parts) {
    for (std::size_t i = 0; i < graph.tensors.size(); ++i)
      tensors_.push_back(keep(make_tensor(m, graph.tensors[i], id_of(i))));
  }

  Descriptor operation(const GraphOperation& o) {
    if (o.deed == Deed::Reshape) return reshape(o);
    const Names& names = o.deed == Deed::Matmul      ? kMatmul
                         : o.deed == Deed::Pointwise ? kPointwise
                                                     : kReduction;
    const Descriptor how = keep(make_description(m_, o, names));
    Owned made = m_.make(names.operation);
    m_.set(made, names.description, Type::Descriptors, how);
    set_tensor(made, names.x, o.x);
    if (o.b >= 0) set_tensor(made, names.b, o.b);
    if (o.t >= 0) set_tensor(made, Attribute::OperationPointwiseT, o.t);
    set_tensor(made, names.y, o.y);
    m_.finish(made);
    return keep(std::move(made));
  }

 private:
  Descriptor reshape(const GraphOperation& o) {
    Owned made = m_.make(Kind::OperationReshape);
    set_tensor(made, Attribute::OperationReshapeX, o.x);
    set_tensor(made, Attribute::OperationReshapeY, o.y);
    m_.finish(made);
    return keep(std::move(made));
  }
  void set_tensor(const Owned& of, Attribute attribute, int tensor) {
    m_.set(of, attribute, Type::Descriptors, tensors_[static_cast<std::size_t>(tensor)]);
  }
  Descriptor keep(Owned made) {
    parts_.push_back(std::move(made));
    return parts_.back().get();
  }
  const Maker& m_;
  std::vector<Owned>& parts_;
  std::vector<Descriptor> tensors_;
};

Owned make_operations(const Maker& m, const Graph& graph, const Target& target,
                      std::vector<Owned>& parts) {
  DescriptorMaker maker(m, graph, parts);
  std::vector<Descriptor> operations;
  for (const GraphOperation& o : graph.operations) operations.push_back(maker.operation(o));
  Owned made = m.make(Kind::OperationGraph);
  if (target.handle != nullptr) m.set(made, Attribute::GraphHandle, Type::Handles, target.handle);
  m.set<Descriptor>(made, Attribute::GraphOperations, Type::Descriptors, operations);
  m.finish(made);
  return made;
}

/// What a heuristic proposes; nothing where it has no answer to the graph.
std::vector<Owned> engines(const Maker& m, Descriptor operations, const Target& target,
                           Heuristics mode) {
  const Owned heuristic = m.make(Kind::EngineHeuristics);
  m.set(heuristic, Attribute::HeuristicsGraph, Type::Descriptors, operations);
  m.set(heuristic, Attribute::HeuristicsMode, Type::HeuristicsModes, mode);
  if (target.device != nullptr)
    m.set(heuristic, Attribute::HeuristicsDevice, Type::Descriptors, target.device);
  if (m.api().BackendFinalize(heuristic.get()) != kSuccess) return {};
  std::vector<Owned> found;
  std::vector<Descriptor> results;
  for (std::int64_t i = 0; i < kMostEngines; ++i) {
    found.push_back(m.make(Kind::EngineConfig));
    results.push_back(found.back().get());
  }
  std::int64_t count = 0;
  check(m.api(),
        m.api().BackendGetAttribute(heuristic.get(), Attribute::HeuristicsResults,
                                    Type::Descriptors, kMostEngines, &count, results.data()),
        m.what());
  found.resize(static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, kMostEngines)));
  return found;
}

/// Null, and `why`, when the engine cannot do it on the target.
Owned plan_of(const Maker& m, Descriptor engine, const Target& target, std::string& why) {
  Owned made = m.make(Kind::ExecutionPlan);
  if (target.handle != nullptr) m.set(made, Attribute::PlanHandle, Type::Handles, target.handle);
  if (target.device != nullptr)
    m.set(made, Attribute::PlanDevice, Type::Descriptors, target.device);
  m.set(made, Attribute::PlanEngineConfig, Type::Descriptors, engine);
  try {
    m.finish(made);
  } catch (const base::Error& error) {
    why = std::string(error.what()).substr(std::string("cudnn: ").size());
    made.reset();
  }
  return made;
}

/// The first engine that can be planned.
Owned make_plan(const Maker& m, Descriptor operations, const Target& target,
                std::vector<Owned>& parts) {
  std::string why;
  for (const Heuristics mode : {Heuristics::A, Heuristics::Fallback}) {
    for (Owned& engine : engines(m, operations, target, mode)) {
      Owned plan = plan_of(m, engine.get(), target, why);
      if (!plan) continue;
      parts.push_back(std::move(engine));
      return plan;
    }
  }
  throw Unsupported("cudnn", why.empty() ? m.what() + ": cuDNN " + version_text(m.api().version) +
                                               " has no engine for it on this device"
                                         : why);
}

/// One number in its own type.
double stored(const GraphTensor& tensor) {
  double result = 0;
  const auto number = static_cast<float>(tensor.value);
  const auto whole = static_cast<std::int32_t>(tensor.value);
  if (tensor.type == Data::Int32)
    std::memcpy(&result, &whole, sizeof whole);
  else
    std::memcpy(&result, &number, sizeof number);
  return result;
}

}  // namespace

OwnedHandle make_handle(const Api& api) {
  Handle made = nullptr;
  check(api, api.Create(&made), "a handle");
  return OwnedHandle(made, DropHandle{&api});
}

Owned described_device(const Api& api, const std::string& json) {
  const Maker m(api, "device properties");
  Owned made = m.make(Kind::DeviceProperties);
  m.set<char>(made, Attribute::DeviceJson, Type::Chars, json);
  m.finish(made);
  return made;
}

Plan::Plan(const Api& api, const Graph& graph, const Target& target, const std::string& what)
    : api_(&api), what_(what), plan_(nullptr, DropDescriptor{&api}) {
  const Maker m(api, what);
  parts_.push_back(make_operations(m, graph, target, parts_));
  plan_ = make_plan(m, parts_.back().get(), target, parts_);
  std::int64_t bytes = 0, count = 0;
  check(api,
        api.BackendGetAttribute(plan_.get(), Attribute::PlanWorkspaceSize, Type::Int64s, 1, &count,
                                &bytes),
        what);
  workspace_ = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 0));
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const GraphTensor& tensor = graph.tensors[i];
    if (tensor.place == Place::Memory) memory_ids_.push_back(id_of(i));
    if (tensor.place != Place::Value) continue;
    number_ids_.push_back(id_of(i));
    numbers_.push_back(stored(tensor));
  }
}

void Plan::run(Handle handle, std::span<void* const> memory, void* workspace) const {
  PACELINE_CHECK(memory.size() == memory_ids_.size());
  std::vector<std::int64_t> ids = memory_ids_;
  ids.insert(ids.end(), number_ids_.begin(), number_ids_.end());
  std::vector<void*> pointers(memory.begin(), memory.end());
  std::vector<double> numbers = numbers_;
  for (double& number : numbers) pointers.push_back(&number);
  const Maker m(*api_, what_);
  const Owned pack = m.make(Kind::VariantPack);
  m.set<std::int64_t>(pack, Attribute::PackUniqueIds, Type::Int64s, ids);
  m.set<void*>(pack, Attribute::PackPointers, Type::Pointers, pointers);
  m.set(pack, Attribute::PackWorkspace, Type::Pointers, workspace);
  m.finish(pack);
  check(*api_, api_->BackendExecute(handle, plan_.get(), pack.get()), what_);
}

}  // namespace paceline::kernels::cudnn
