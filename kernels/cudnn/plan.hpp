// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "kernels/cudnn/graph.hpp"

namespace paceline::kernels::cudnn {

struct DropDescriptor {
  const Api* api;
  void operator()(Descriptor descriptor) const { api->BackendDestroyDescriptor(descriptor); }
};
using Owned = std::unique_ptr<void, DropDescriptor>;

struct DropHandle {
  const Api* api;
  void operator()(Handle handle) const { api->Destroy(handle); }
};
using OwnedHandle = std::unique_ptr<void, DropHandle>;
/// Of the current device.
OwnedHandle make_handle(const Api& api);

/// What a plan is made for: a handle's device, or one that is only described, on which nothing can
/// be run.
struct Target {
  Handle handle = nullptr;
  Descriptor device = nullptr;
};
/// A device by its properties, in the JSON that cuDNN writes of one; from kDescribedDevices on.
Owned described_device(const Api& api, const std::string& json);

/// What cuDNN runs for a graph. Throws base::Error in one line about `what` where cuDNN refuses the
/// graph, Unsupported (library.hpp) where it has no engine for it or none that can be planned.
class Plan {
 public:
  Plan(const Api& api, const Graph& graph, const Target& target, const std::string& what);
  /// Bytes that a run needs besides its tensors.
  std::size_t workspace() const { return workspace_; }
  /// Enqueues it in the handle's stream: one pointer for each tensor of Place::Memory, in order.
  void run(Handle handle, std::span<void* const> memory, void* workspace) const;

 private:
  const Api* api_;
  std::string what_;
  std::vector<Owned> parts_;  ///< descriptors the plan refers to
  Owned plan_;
  std::size_t workspace_ = 0;
  std::vector<std::int64_t> memory_ids_, number_ids_;
  std::vector<double> numbers_;  ///< each holds a value of its tensor's type
};

}  // namespace paceline::kernels::cudnn
