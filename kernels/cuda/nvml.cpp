// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/nvml.hpp"

#include <array>

#include "base/error.hpp"
#include "base/module.hpp"

namespace paceline::kernels {
namespace {

// Prototypes and numbers as the NVML API reference states them (docs.nvidia.com/deploy/nvml-api).
using Status = int;  // nvmlReturn_t
constexpr Status kSuccess = 0;
constexpr int kClockSm = 1, kClockMemory = 2;  // nvmlClockType_t
constexpr int kSensorGpu = 0;                  // nvmlTemperatureSensors_t
constexpr unsigned kNameBytes = 96;            // NVML_DEVICE_NAME_V2_BUFFER_SIZE

}  // namespace

struct Nvml::Functions {
  Status (*init)();
  Status (*shutdown)();
  const char* (*error)(Status);
  Status (*by_address)(const char*, void** gpu);
  Status (*name)(void*, char* text, unsigned bytes);
  Status (*power)(void*, unsigned* milliwatts);
  Status (*energy)(void*, unsigned long long* millijoules);
  Status (*clock)(void*, int which, unsigned* megahertz);
  Status (*temperature)(void*, int sensor, unsigned* celsius);

  std::string load(const char* file) {
    std::string why;
    void* library = base::open_library({&file, 1}, why);
    bool all = library != nullptr;
    const auto find = [&](auto& function, const char* symbol) {
      if (!all) return;
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
          base::find_symbol(library, symbol, why));
      all = function != nullptr;
    };
    find(init, "nvmlInit_v2");
    find(shutdown, "nvmlShutdown");
    find(error, "nvmlErrorString");
    find(by_address, "nvmlDeviceGetHandleByPciBusId_v2");
    find(name, "nvmlDeviceGetName");
    find(power, "nvmlDeviceGetPowerUsage");
    find(energy, "nvmlDeviceGetTotalEnergyConsumption");
    find(clock, "nvmlDeviceGetClockInfo");
    find(temperature, "nvmlDeviceGetTemperature");
    return all ? "" : why;
  }
};

Nvml::Nvml(const char* library) {
  auto functions = std::make_unique<Functions>();
  std::string why = functions->load(library);
  if (why.empty())
    if (const Status status = functions->init(); status != kSuccess) why = functions->error(status);
  if (!why.empty())
    throw base::MissingError("nvml: power, clocks and temperature of GPUs are not available: " +
                             why);
  functions_ = std::move(functions);
}

Nvml::~Nvml() { functions_->shutdown(); }

void* Nvml::gpu(const std::string& pci_address) const {
  void* gpu = nullptr;
  if (const Status status = functions_->by_address(pci_address.c_str(), &gpu); status != kSuccess)
    throw base::Error("nvml", "no GPU " + pci_address + ": " + functions_->error(status));
  return gpu;
}

std::string Nvml::name(void* gpu) const {
  std::array<char, kNameBytes> text{};
  return functions_->name(gpu, text.data(), kNameBytes) == kSuccess ? text.data() : "unknown GPU";
}

GpuReading Nvml::read(void* gpu) const {
  GpuReading reading;
  unsigned value = 0;
  unsigned long long energy = 0;
  constexpr double kMilli = 1e-3;
  if (functions_->power(gpu, &value) == kSuccess) reading.power_W = value * kMilli;
  if (functions_->energy(gpu, &energy) == kSuccess)
    reading.energy_J = static_cast<double>(energy) * kMilli;
  if (functions_->clock(gpu, kClockSm, &value) == kSuccess) reading.clock_MHz = value;
  if (functions_->clock(gpu, kClockMemory, &value) == kSuccess) reading.memory_clock_MHz = value;
  if (functions_->temperature(gpu, kSensorGpu, &value) == kSuccess) reading.temperature_C = value;
  return reading;
}

}  // namespace paceline::kernels
