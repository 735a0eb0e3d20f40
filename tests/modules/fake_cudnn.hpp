// SPDX-License-Identifier: Apache-2.0
#pragma once
// A stand-in for cuDNN: it takes descriptors as strictly as it can and runs graphs of operations on
// the processor, in double. What it does badly when asked to, by the environment:
//   PACELINE_FAKE_CUDNN_VERSION  what cudnnGetVersion says; default 91900
//   PACELINE_FAKE_CUDNN_FAULT    no-engine | no-plan | bad-first-plan | create | execute
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "kernels/cudnn/api.hpp"

namespace fake_cudnn {

using namespace paceline::kernels::cudnn;

constexpr Status kNotInitialised = 1001, kBadParameter = 2000, kNotSupported = 3000,
                 kExecutionFailed = 5000;

/// A refusal: thrown within, a status and the last error's text outside.
struct Refusal {
  Status status;
  std::string why;
};
/// Refuses unless it holds.
inline void need(bool holds, const std::string& what, Status status = kBadParameter) {
  if (!holds) throw Refusal{status, what};
}

struct Attributed {
  Type type = Type::Int64s;
  std::int64_t count = 0;
  std::vector<unsigned char> bytes;
};

struct Node {
  Kind kind = Kind::Tensor;
  bool finalised = false;
  std::map<Attribute, Attributed> attributes;

  bool has(Attribute attribute) const { return attributes.count(attribute) > 0; }
  template <class T>
  std::vector<T> all(Attribute attribute) const {
    const auto found = attributes.find(attribute);
    need(found != attributes.end(), "attribute " + std::to_string(int(attribute)) + " is missing");
    std::vector<T> values(static_cast<std::size_t>(found->second.count));
    for (std::size_t i = 0; i < values.size(); ++i) {
      unsigned char* to = reinterpret_cast<unsigned char*>(&values[i]);
      for (std::size_t k = 0; k < sizeof(T); ++k) to[k] = found->second.bytes[i * sizeof(T) + k];
    }
    return values;
  }
  template <class T>
  T one(Attribute attribute) const {
    const std::vector<T> values = all<T>(attribute);
    need(values.size() == 1, "one value is wanted");
    return values.front();
  }
  /// False where it is not set.
  bool flag(Attribute attribute) const {
    return has(attribute) && one<unsigned char>(attribute) != 0;
  }
  const Node& node(Attribute attribute) const {
    return *static_cast<const Node*>(one<Descriptor>(attribute));
  }
};

/// A tensor's descriptor, read.
struct FakeTensor {
  explicit FakeTensor(const Node& node);
  std::int64_t id;
  Data type;
  std::vector<std::int64_t> sizes, strides;
  bool is_virtual, by_value;
  std::int64_t count() const;
};

/// Whether a descriptor that is complete makes sense by itself and with those it refers to.
void check_tensor(const Node& node);
void check_operation(const Node& node);
void check_graph(const Node& node);

/// Ids of the tensors that a run of the graph is given.
std::vector<std::int64_t> given_ids(const Node& graph);

/// Reads what the graph reads through the pointers, computes, and writes its results.
void run_graph(const Node& graph, const std::map<std::int64_t, void*>& pointers,
               std::size_t version);

/// Tensors of an operation, those that it reads first: by what they are called.
struct Ports {
  std::vector<const Node*> reads;
  const Node* writes;
};
Ports ports(const Node& operation);

}  // namespace fake_cudnn
