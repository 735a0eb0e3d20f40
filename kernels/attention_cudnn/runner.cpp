// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention_cudnn/runner.hpp"

#include <string>
#include <utility>
#include <vector>

#include "kernels/attention_cudnn/graphs.hpp"
#include "kernels/library.hpp"

namespace paceline::kernels {
namespace {

constexpr std::size_t kAlignment = 256;  // as of allocations
/// Before it, who calls clears the sums of dq.
constexpr std::size_t kClearsItsSums = 90600;

std::string label(const Case& c, bool backward) {
  return std::string("attention-cudnn ") + (backward ? "backward " : "forward ") +
         std::string(name_of(c.type)) + " " + c.shape.text();
}

std::size_t dq_sum_bytes(const Attention& a) {
  return sizeof(float) * static_cast<std::size_t>(a.batch) * static_cast<std::size_t>(a.heads) *
         static_cast<std::size_t>(a.queries) * static_cast<std::size_t>(a.head_dim);
}

}  // namespace

CudnnAttention::Device& CudnnAttention::device() {
  const int current = memory_.current_device();
  const auto found = devices_.find(current);
  if (found != devices_.end()) return found->second;
  Device made{cudnn::make_handle(api_), {}, {}};
  return devices_.emplace(current, std::move(made)).first->second;
}

const cudnn::Plan& CudnnAttention::plan(Device& device, const Case& c, bool backward) {
  const Attention a = attention_of(c);
  const Key key{backward ? 1 : 0, static_cast<std::int64_t>(c.type),
                a.batch,          a.heads,
                a.kv_heads,       a.queries,
                a.keys,           a.head_dim,
                a.causal ? 1 : 0};
  const auto found = device.plans.find(key);
  if (found != device.plans.end()) return found->second;
  if (const std::string why = no_attention_graph(c); !why.empty())
    throw Unsupported(label(c, backward), why, "the kernel attention does it");
  const cudnn::Graph graph = backward ? attention_backward_graph(c) : attention_forward_graph(c);
  cudnn::Plan made(api_, graph, {device.handle.get(), nullptr}, label(c, backward));
  return device.plans.emplace(key, std::move(made)).first->second;
}

void* CudnnAttention::workspace(Device& device, Stream stream, std::size_t bytes) {
  Workspace& kept =
      device.workspaces.try_emplace(stream.handle, Workspace{{nullptr, memory_.release}, 0})
          .first->second;
  if (kept.bytes >= bytes) return kept.data.get();
  kept.data.reset();
  kept.bytes = 0;
  kept.data.reset(memory_.allocate(bytes));
  kept.bytes = bytes;
  return kept.data.get();
}

void CudnnAttention::forward(const Call& call, Stream stream) {
  Device& here = device();
  const cudnn::Plan& made = plan(here, call.c, false);
  void* scratch = workspace(here, stream, made.workspace());
  void* memory[kForwardMemories] = {};
  memory[kForwardMemoryQ] = call.tensors[kForwardQ].data;
  memory[kForwardMemoryK] = call.tensors[kForwardK].data;
  memory[kForwardMemoryV] = call.tensors[kForwardV].data;
  memory[kForwardMemoryOut] = call.tensors[kForwardOut].data;
  memory[kForwardMemoryLse] = call.tensors[kForwardLse].data;
  cudnn::check(api_, api_.SetStream(here.handle.get(), stream.handle), "the stream");
  made.run(here.handle.get(), memory, scratch);
}

void CudnnAttention::backward(const Call& call, Stream stream) {
  Device& here = device();
  const cudnn::Plan& made = plan(here, call.c, true);
  const std::size_t sums = dq_sum_bytes(attention_of(call.c));
  const std::size_t before = (made.workspace() + kAlignment - 1) / kAlignment * kAlignment;
  auto* scratch = static_cast<unsigned char*>(workspace(here, stream, before + sums));
  void* memory[kMemories] = {};
  memory[kMemoryQ] = call.tensors[kQ].data;
  memory[kMemoryK] = call.tensors[kK].data;
  memory[kMemoryV] = call.tensors[kV].data;
  memory[kMemoryOut] = call.tensors[kOut].data;
  memory[kMemoryLse] = call.tensors[kLse].data;
  memory[kMemoryDout] = call.tensors[kDout].data;
  memory[kMemoryDq] = call.tensors[kDq].data;
  memory[kMemoryDk] = call.tensors[kDk].data;
  memory[kMemoryDv] = call.tensors[kDv].data;
  memory[kMemoryDelta] = call.tensors[kDelta].data;
  memory[kMemoryDqSum] = scratch + before;
  if (api_.version < kClearsItsSums) memory_.zero(memory[kMemoryDqSum], sums, stream);
  cudnn::check(api_, api_.SetStream(here.handle.get(), stream.handle), "the stream");
  made.run(here.handle.get(), memory, scratch);
}

}  // namespace paceline::kernels
