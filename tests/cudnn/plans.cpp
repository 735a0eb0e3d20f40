// SPDX-License-Identifier: Apache-2.0
// Whether the cuDNN of this machine plans the graphs of attention, down to compiled kernels, for
// GPUs that are only described to it: none is needed. plans FAKE_DRIVER; exit 77 where cuDNN is
// absent or cannot do that.
#include <dlfcn.h>

#include <cstdio>
#include <string>

#include "base/error.hpp"
#include "kernels/attention_cudnn/graphs.hpp"
#include "kernels/cudnn/plan.hpp"

namespace {

using namespace paceline;
using kernels::Case;
using kernels::DType;

struct Gpu {
  const char* name;
  int version, multiprocessors, shared_memory;  ///< shared memory a block may ask for
};
// CUDA C++ programming guide, technical specifications per compute capability; data sheets.
constexpr Gpu kGpus[] = {
    {"A100", 800, 108, 166912}, {"H100", 900, 132, 232448}, {"B200", 1000, 148, 232448}};

/// As cuDNN writes the properties of a device.
std::string json_of(const Gpu& gpu) {
  return "{\"driverVer\": 13000, \"deviceVer\": " + std::to_string(gpu.version) +
         ", \"cudaDeviceId\": 0, \"totalGlobalMem\": 80000000000, \"maxGridSize\": [2147483647, "
         "65535, 65535], \"maxBlockSize\": [1024, 1024, 64], \"regsPerBlock\": 65536, "
         "\"multiProcessorCount\": " +
         std::to_string(gpu.multiprocessors) +
         ", \"warpSize\": 32, \"maxSharedMemoryPerBlock\": 49152, "
         "\"maxSharedMemoryPerBlockOptin\": " +
         std::to_string(gpu.shared_memory) +
         ", \"reservedSharedMemoryPerBlock\": 1024, \"maxRegistersPerSM\": 65536, "
         "\"maxCtasPerSM\": 32, \"maxThreadsPerBlock\": 1024, \"maxThreadsPerSM\": 2048, "
         "\"pciDeviceId\": 0, \"isTccDriver\": 0, \"supportCoopLaunch\": 1, \"smClockRateKHz\": "
         "1400000, \"memClockRateKHz\": 1500000, \"l2CacheSize\": 40000000, \"deviceName\": \"" +
         gpu.name + "\"}";
}

Case attention(DType type, int heads, int kv_heads, int queries, int keys, int head_dim,
               int causal) {
  return {type,
          {{"batch", 2},
           {"heads", heads},
           {"kv_heads", kv_heads},
           {"queries", queries},
           {"keys", keys},
           {"head_dim", head_dim},
           {"causal", causal}}};
}

/// Whether both passes of the case have a plan.
bool planned(const kernels::cudnn::Api& api, kernels::cudnn::Descriptor device, const char* gpu,
             const Case& c) {
  const std::string label = std::string(gpu) + ", " + c.shape.text();
  try {
    const kernels::cudnn::Plan forward(api, attention_forward_graph(c), {nullptr, device}, label),
        backward(api, attention_backward_graph(c), {nullptr, device}, label);
    std::printf("planned: %s, %zu and %zu bytes of workspace\n", label.c_str(), forward.workspace(),
                backward.workspace());
    return true;
  } catch (const base::Error& error) {
    std::printf("FAILED: %s\n", error.what());
    return false;
  }
}

int run(const char* driver) {
  // cuDNN looks for a library of this name, and takes the one that is loaded.
  if (dlopen(driver, RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    std::printf("%s\n", dlerror());
    return 2;
  }
  const kernels::cudnn::Api& api = kernels::cudnn::api();
  if (api.version < kernels::cudnn::kDescribedDevices) {
    std::printf("skipped: cuDNN %s takes no described device\n",
                kernels::cudnn::version_text(api.version).c_str());
    return 77;
  }
  int failures = 0;
  for (const Gpu& gpu : kGpus) {
    const kernels::cudnn::Owned device = described_device(api, json_of(gpu));
    for (const Case& c : {attention(DType::Bf16, 8, 8, 512, 512, 64, 0),
                          attention(DType::F16, 8, 2, 512, 512, 128, 1),
                          attention(DType::Bf16, 4, 2, 40, 139, 72, 1)})
      failures += planned(api, device.get(), gpu.name, c) ? 0 : 1;
  }
  return failures > 0 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return argc == 2 ? run(argv[1]) : 2;
  } catch (const base::MissingError& missing) {
    std::printf("skipped: %s\n", missing.what());
    return 77;
  } catch (const base::Error& error) {
    std::printf("FAILED: %s\n", error.what());
    return 1;
  }
}
