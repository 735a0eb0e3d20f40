// SPDX-License-Identifier: Apache-2.0
// The functions of the stand-in: descriptors with typed attributes, engines, plans, handles.
#include "tests/modules/fake_cudnn.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace fake_cudnn {
namespace {

thread_local std::string last_error;
int a_handle = 0;
constexpr std::int64_t kWorkspace = 1000;  // no round number: who adds to it has to round

std::size_t version() {
  const char* said = std::getenv("PACELINE_FAKE_CUDNN_VERSION");
  return said == nullptr ? 91900 : static_cast<std::size_t>(std::atoll(said));
}
bool fault(const char* name) {
  const char* said = std::getenv("PACELINE_FAKE_CUDNN_FAULT");
  return said != nullptr && std::strcmp(said, name) == 0;
}

/// What a kind of descriptor may and must have.
struct Rule {
  Kind kind;
  Attribute attribute;
  Type type;
  std::int64_t least, most;
  bool required;
};
using enum Attribute;
constexpr std::int64_t kMany = 1000;
constexpr Rule kRules[] = {
    {Kind::Tensor, TensorUniqueId, Type::Int64s, 1, 1, true},
    {Kind::Tensor, TensorDataType, Type::DataTypes, 1, 1, true},
    {Kind::Tensor, TensorSizes, Type::Int64s, 1, 8, true},
    {Kind::Tensor, TensorStrides, Type::Int64s, 1, 8, true},
    {Kind::Tensor, TensorAlignment, Type::Int64s, 1, 1, true},
    {Kind::Tensor, TensorIsVirtual, Type::Booleans, 1, 1, false},
    {Kind::Tensor, TensorIsByValue, Type::Booleans, 1, 1, false},
    {Kind::Matmul, MatmulComputeType, Type::DataTypes, 1, 1, true},
    {Kind::OperationMatmul, Attribute::OperationMatmul, Type::Descriptors, 1, 1, true},
    {Kind::OperationMatmul, OperationMatmulA, Type::Descriptors, 1, 1, true},
    {Kind::OperationMatmul, OperationMatmulB, Type::Descriptors, 1, 1, true},
    {Kind::OperationMatmul, OperationMatmulC, Type::Descriptors, 1, 1, true},
    {Kind::Pointwise, PointwiseMode, Type::PointwiseModes, 1, 1, true},
    {Kind::Pointwise, PointwiseMathPrecision, Type::DataTypes, 1, 1, true},
    {Kind::Pointwise, PointwiseAxis, Type::Int64s, 1, 1, false},
    {Kind::OperationPointwise, Attribute::OperationPointwise, Type::Descriptors, 1, 1, true},
    {Kind::OperationPointwise, OperationPointwiseX, Type::Descriptors, 1, 1, true},
    {Kind::OperationPointwise, OperationPointwiseB, Type::Descriptors, 1, 1, false},
    {Kind::OperationPointwise, OperationPointwiseT, Type::Descriptors, 1, 1, false},
    {Kind::OperationPointwise, OperationPointwiseY, Type::Descriptors, 1, 1, true},
    {Kind::Reduction, ReductionOperator, Type::ReductionOperators, 1, 1, true},
    {Kind::Reduction, ReductionComputeType, Type::DataTypes, 1, 1, true},
    {Kind::OperationReduction, Attribute::OperationReduction, Type::Descriptors, 1, 1, true},
    {Kind::OperationReduction, OperationReductionX, Type::Descriptors, 1, 1, true},
    {Kind::OperationReduction, OperationReductionY, Type::Descriptors, 1, 1, true},
    {Kind::OperationReshape, OperationReshapeX, Type::Descriptors, 1, 1, true},
    {Kind::OperationReshape, OperationReshapeY, Type::Descriptors, 1, 1, true},
    {Kind::OperationGraph, GraphHandle, Type::Handles, 1, 1, true},
    {Kind::OperationGraph, GraphOperations, Type::Descriptors, 1, kMany, true},
    {Kind::EngineHeuristics, HeuristicsGraph, Type::Descriptors, 1, 1, true},
    {Kind::EngineHeuristics, HeuristicsMode, Type::HeuristicsModes, 1, 1, true},
    {Kind::ExecutionPlan, PlanHandle, Type::Handles, 1, 1, true},
    {Kind::ExecutionPlan, PlanEngineConfig, Type::Descriptors, 1, 1, true},
    {Kind::VariantPack, PackUniqueIds, Type::Int64s, 1, kMany, true},
    {Kind::VariantPack, PackPointers, Type::Pointers, 1, kMany, true},
    {Kind::VariantPack, PackWorkspace, Type::Pointers, 1, 1, true},
};

std::size_t size_of(Type type) {
  switch (type) {
    case Type::Booleans:
    case Type::Chars:
      return 1;
    case Type::DataTypes:
    case Type::HeuristicsModes:
    case Type::PointwiseModes:
    case Type::ReductionOperators:
      return sizeof(int);
    case Type::Handles:
    case Type::Int64s:
    case Type::Pointers:
    case Type::Descriptors:
      return 8;
  }
  throw Refusal{kBadParameter, "unknown attribute type"};
}

Node& node_of(Descriptor descriptor) {
  need(descriptor != nullptr, "null descriptor");
  return *static_cast<Node*>(descriptor);
}

/// Everything referred to is there and complete, handles are ours.
void check_values(const Node& node) {
  for (const auto& [attribute, value] : node.attributes) {
    if (value.type == Type::Descriptors)
      for (const Descriptor other : node.all<Descriptor>(attribute))
        need(other != nullptr && node_of(other).finalised, "a descriptor that is not finalised");
    if (value.type == Type::Handles)
      need(node.one<Handle>(attribute) == &a_handle, "a handle of another library");
  }
}

void set(Descriptor descriptor, Attribute attribute, Type type, std::int64_t count,
         const void* elements) {
  Node& node = node_of(descriptor);
  need(!node.finalised, "set after finalize");
  need(elements != nullptr, "no elements");
  const auto* const rule = std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& one) {
    return one.kind == node.kind && one.attribute == attribute;
  });
  const std::string name = "attribute " + std::to_string(static_cast<int>(attribute));
  need(rule != std::end(kRules), name + " is none of this kind of descriptor");
  need(rule->type == type, name + " has another type");
  need(count >= rule->least && count <= rule->most, name + " has another number of elements");
  Attributed value{type, count, {}};
  const auto* bytes = static_cast<const unsigned char*>(elements);
  value.bytes.assign(bytes, bytes + static_cast<std::size_t>(count) * size_of(type));
  node.attributes[attribute] = std::move(value);
}

void finalise(Descriptor descriptor) {
  Node& node = node_of(descriptor);
  need(!node.finalised, "finalised twice");
  for (const Rule& rule : kRules)
    need(rule.kind != node.kind || !rule.required || node.has(rule.attribute),
         "attribute " + std::to_string(static_cast<int>(rule.attribute)) + " is missing");
  check_values(node);
  if (node.kind == Kind::Tensor) check_tensor(node);
  if (node.kind == Kind::OperationMatmul || node.kind == Kind::OperationPointwise ||
      node.kind == Kind::OperationReduction || node.kind == Kind::OperationReshape)
    check_operation(node);
  if (node.kind == Kind::OperationGraph) check_graph(node);
  if (node.kind == Kind::ExecutionPlan) {
    const bool first = node.node(PlanEngineConfig).all<std::int64_t>(TensorUniqueId).front() == 0;
    need(!fault("no-plan") && !(first && fault("bad-first-plan")),
         "the engine\nneeds another device", kNotSupported);
  }
  need(node.kind != Kind::EngineConfig, "only a heuristic makes an engine's configuration");
  node.finalised = true;
}

void write_int64(Node& node, Attribute attribute, std::int64_t value) {
  Attributed made{Type::Int64s, 1, std::vector<unsigned char>(sizeof value)};
  std::memcpy(made.bytes.data(), &value, sizeof value);
  node.attributes[attribute] = std::move(made);
}

/// Two engines, each knowing its number and its graph.
std::int64_t propose(const Node& heuristic, std::int64_t most, Descriptor* results) {
  if (fault("no-engine")) return 0;
  const std::int64_t count = std::min<std::int64_t>(most, 2);
  for (std::int64_t i = 0; i < count; ++i) {
    Node& engine = node_of(results[i]);
    need(engine.kind == Kind::EngineConfig && !engine.finalised, "no empty engine configuration");
    write_int64(engine, TensorUniqueId, i);
    engine.attributes[HeuristicsGraph] = heuristic.attributes.at(HeuristicsGraph);
    engine.finalised = true;
  }
  return count;
}

void get(Descriptor descriptor, Attribute attribute, Type type, std::int64_t most,
         std::int64_t* count, void* elements) {
  const Node& node = node_of(descriptor);
  need(node.finalised && count != nullptr && elements != nullptr, "nothing to get");
  if (node.kind == Kind::EngineHeuristics && attribute == HeuristicsResults) {
    need(type == Type::Descriptors && most > 0, "results are descriptors");
    *count = propose(node, most, static_cast<Descriptor*>(elements));
    return;
  }
  need(node.kind == Kind::ExecutionPlan && attribute == PlanWorkspaceSize, "not to be got");
  need(type == Type::Int64s && most == 1, "the workspace's size is one int64");
  *count = 1;
  std::memcpy(elements, &kWorkspace, sizeof kWorkspace);
}

void execute(Handle handle, Descriptor plan, Descriptor pack) {
  need(handle == &a_handle, "a handle of another library");
  const Node &planned = node_of(plan), &given = node_of(pack);
  need(planned.kind == Kind::ExecutionPlan && planned.finalised, "no plan");
  need(given.kind == Kind::VariantPack && given.finalised, "no variant pack");
  need(!fault("execute"), "the device\nfell asleep\n", kExecutionFailed);
  const auto ids = given.all<std::int64_t>(PackUniqueIds);
  const auto data = given.all<void*>(PackPointers);
  need(ids.size() == data.size(), "as many ids as pointers are wanted");
  std::map<std::int64_t, void*> pointers;
  for (std::size_t i = 0; i < ids.size(); ++i)
    need(pointers.emplace(ids[i], data[i]).second, "an id twice");
  const Node& graph = planned.node(PlanEngineConfig).node(HeuristicsGraph);
  std::vector<std::int64_t> got, wanted = given_ids(graph);
  for (const auto& [id, pointer] : pointers) got.push_back(id);
  need(got == wanted, "the pack has not exactly the graph's tensors");
  auto* const workspace = static_cast<unsigned char*>(given.one<void*>(PackWorkspace));
  need(workspace != nullptr, "no workspace");
  std::memset(workspace, 0xee, static_cast<std::size_t>(kWorkspace));
  for (const auto& [id, pointer] : pointers)
    need(pointer < workspace || pointer >= workspace + kWorkspace, "a tensor in the workspace");
  run_graph(graph, pointers, version());
}

/// A function's body: refusals become a status.
template <class Body>
Status guarded(const Body& body) {
  try {
    body();
    return kSuccess;
  } catch (const Refusal& refusal) {
    last_error = refusal.why;
    return refusal.status;
  }
}

}  // namespace
}  // namespace fake_cudnn

using namespace fake_cudnn;

extern "C" {

std::size_t cudnnGetVersion() { return version(); }
const char* cudnnGetErrorString(Status status) {
  switch (status) {
    case kSuccess:
      return "CUDNN_STATUS_SUCCESS";
    case kNotInitialised:
      return "CUDNN_STATUS_NOT_INITIALIZED";
    case kBadParameter:
      return "CUDNN_STATUS_BAD_PARAM";
    case kNotSupported:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    default:
      return "CUDNN_STATUS_EXECUTION_FAILED";
  }
}
void cudnnGetLastErrorString(char* text, std::size_t bytes) {
  std::strncpy(text, last_error.c_str(), bytes - 1);
  text[bytes - 1] = '\0';
}
Status cudnnCreate(Handle* handle) {
  return guarded([&] {
    need(!fault("create"), "no driver", kNotInitialised);
    *handle = &a_handle;
  });
}
Status cudnnDestroy(Handle handle) {
  return guarded([&] { need(handle == &a_handle, "a handle of another library"); });
}
Status cudnnSetStream(Handle handle, void*) {
  return guarded([&] { need(handle == &a_handle, "a handle of another library"); });
}
Status cudnnBackendCreateDescriptor(Kind kind, Descriptor* descriptor) {
  auto made = std::make_unique<Node>();
  made->kind = kind;
  *descriptor = made.release();
  return kSuccess;
}
Status cudnnBackendDestroyDescriptor(Descriptor descriptor) {
  const std::unique_ptr<const Node> gone(static_cast<Node*>(descriptor));
  return kSuccess;
}
Status cudnnBackendSetAttribute(Descriptor descriptor, Attribute attribute, Type type,
                                std::int64_t count, const void* elements) {
  return guarded([&] { set(descriptor, attribute, type, count, elements); });
}
Status cudnnBackendGetAttribute(Descriptor descriptor, Attribute attribute, Type type,
                                std::int64_t most, std::int64_t* count, void* elements) {
  return guarded([&] { get(descriptor, attribute, type, most, count, elements); });
}
Status cudnnBackendFinalize(Descriptor descriptor) {
  return guarded([&] { finalise(descriptor); });
}
Status cudnnBackendExecute(Handle handle, Descriptor plan, Descriptor pack) {
  return guarded([&] { execute(handle, plan, pack); });
}

}  // extern "C"
