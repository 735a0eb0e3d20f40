// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

namespace paceline::kernels {

/// What a GPU says of itself at the moment; nothing where this GPU does not tell.
struct GpuReading {
  std::optional<double> power_W;
  std::optional<double> energy_J;  ///< since the driver was loaded: a difference is what work cost
  std::optional<double> clock_MHz, memory_clock_MHz;  ///< of multiprocessors and memory
  std::optional<double> temperature_C;
};

/// NVIDIA's management library, which the driver brings: loaded at run time, no header of it
/// needed.
class Nvml {
 public:
  /// base::MissingError in one line: no library, or no driver it can talk to.
  explicit Nvml(const char* library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// A GPU by its PCI address ("0000:9b:00.0", cudaDeviceGetPCIBusId): NVML counts all GPUs, CUDA
  /// those that are visible. base::Error when there is none of it.
  void* gpu(const std::string& pci_address) const;
  std::string name(void* gpu) const;
  GpuReading read(void* gpu) const;

 private:
  struct Functions;
  std::unique_ptr<const Functions> functions_;
};

}  // namespace paceline::kernels
