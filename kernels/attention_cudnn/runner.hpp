// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <map>

#include "kernels/cudnn/plan.hpp"
#include "kernels/operation.hpp"

namespace paceline::kernels {

/// Memory of a device, and which is the current one.
struct DeviceMemory {
  int (*current_device)();
  void* (*allocate)(std::size_t bytes);  ///< throws base::Error
  void (*release)(void*);                ///< when the device has done what uses it
  void (*zero)(void*, std::size_t bytes, Stream);
};

/// Attention by cuDNN: a plan a case and device, a handle a device, a workspace a stream; all made
/// when they are first needed, and kept. Not for several threads at once.
class CudnnAttention {
 public:
  /// Both outlive it.
  CudnnAttention(const cudnn::Api& api, const DeviceMemory& memory) : api_(api), memory_(memory) {}
  /// Enqueue the pass of "attention-cudnn". base::Error in one line; Unsupported (library.hpp)
  /// where cuDNN has nothing for the case.
  void forward(const Call& call, Stream stream);
  void backward(const Call& call, Stream stream);

 private:
  /// Pass, type, extents.
  using Key = std::array<std::int64_t, 9>;
  struct Workspace {
    std::unique_ptr<void, void (*)(void*)> data;
    std::size_t bytes = 0;
  };
  struct Device {
    cudnn::OwnedHandle handle;
    std::map<Key, cudnn::Plan> plans;
    std::map<void*, Workspace> workspaces;
  };
  Device& device();
  const cudnn::Plan& plan(Device& device, const Case& c, bool backward);
  void* workspace(Device& device, Stream stream, std::size_t bytes);

  const cudnn::Api& api_;
  const DeviceMemory& memory_;
  std::map<int, Device> devices_;
};

}  // namespace paceline::kernels
