// SPDX-License-Identifier: Apache-2.0
#include "kernels/backend.hpp"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "kernels/cuda/check.hpp"

namespace paceline::kernels {
namespace cuda {

void check(cudaError_t status, std::source_location place) {
  if (status == cudaSuccess) return;
  std::string hint;
  if (status == cudaErrorMemoryAllocation) {
    std::size_t free = 0, total = 0;
    if (cudaMemGetInfo(&free, &total) == cudaSuccess)
      hint = std::to_string(free >> 20) + " of " + std::to_string(total >> 20) + " MiB are free";
  }
  std::string file = place.file_name();
  file = file.substr(file.find_last_of('/') + 1);
  throw base::Error("cuda",
                    std::string(cudaGetErrorString(status)) + " (" + file + ":" +
                        std::to_string(place.line()) + ")",
                    hint);
}

namespace {

void* allocate(std::size_t bytes) {
  void* data = nullptr;
  check(cudaMalloc(&data, bytes == 0 ? 1 : bytes));
  return data;
}

void* allocate_on_host(std::size_t bytes) {
  void* data = nullptr;
  check(cudaMallocHost(&data, bytes == 0 ? 1 : bytes));
  return data;
}

void copy(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpy(to, from, bytes, cudaMemcpyDefault));
}

Stream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return {stream};
}

cudaStream_t native(Stream stream) { return static_cast<cudaStream_t>(stream.handle); }

cudaDeviceProp properties() {
  int current = 0;
  cudaDeviceProp properties{};
  check(cudaGetDevice(&current));
  check(cudaGetDeviceProperties(&properties, current));
  return properties;
}
std::string device() { return properties().name; }
double memory() { return static_cast<double>(properties().totalGlobalMem); }
int multiprocessors() { return properties().multiProcessorCount; }
double cache() { return properties().l2CacheSize; }

/// The current device by the management library, which a driver may lack.
GpuReading reading() {
  static const std::unique_ptr<const Nvml> nvml = []() -> std::unique_ptr<const Nvml> {
    try {
      return std::make_unique<const Nvml>();
    } catch (const base::MissingError&) {
      return nullptr;
    }
  }();
  int current = 0;
  char address[32] = {};
  check(cudaGetDevice(&current));
  check(cudaDeviceGetPCIBusId(address, sizeof address, current));
  return nvml ? nvml->read(nvml->gpu(address)) : GpuReading{};
}

cudaEvent_t native(Event event) { return static_cast<cudaEvent_t>(event.handle); }
Event make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreate(&event));
  return {event};
}
double seconds(Event from, Event to) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, native(from), native(to)));
  return static_cast<double>(milliseconds) / 1e3;
}
constexpr EventFunctions kEvents{
    make_event, [](Event event) { cudaEventDestroy(native(event)); },
    [](Event event, Stream s) { check(cudaEventRecord(native(event), native(s))); },
    [](Stream s, Event event) { check(cudaStreamWaitEvent(native(s), native(event), 0)); },
    seconds};

void idle(double seconds, Stream stream) {
  auto wanted = std::make_unique<double>(seconds);
  check(cudaLaunchHostFunc(
      native(stream),
      [](void* data) {
        const std::unique_ptr<const double> time(static_cast<double*>(data));
        std::this_thread::sleep_for(std::chrono::duration<double>(*time));
      },
      wanted.get()));
  wanted.release();
}

/// A launcher may show every rank only its own device, which then is number 0 of 1.
std::string take_device(int local_rank) {
  int devices = 0, current = 0;
  char address[32] = {};
  check(cudaGetDeviceCount(&devices));
  check(cudaSetDevice(local_rank % devices));
  check(cudaGetDevice(&current));
  check(cudaDeviceGetPCIBusId(address, sizeof address, current));
  return address;
}

constexpr Backend kCuda{"cuda",
                        allocate,
                        [](void* data) { cudaFree(data); },
                        copy,
                        copy,
                        [](void* data, int byte, std::size_t bytes) {
                          check(cudaMemset(data, byte, bytes));
                          check(cudaDeviceSynchronize());
                        },
                        make_stream,
                        [](Stream s) { cudaStreamDestroy(native(s)); },
                        [](Stream s) { check(cudaStreamSynchronize(native(s))); },
                        [](const Operation& o) { return o.cuda != nullptr; },
                        [](const Operation& o, const Call& call, Stream s) { o.cuda(call, s); },
                        allocate_on_host,
                        [](void* data) { cudaFreeHost(data); },
                        device,
                        memory,
                        multiprocessors,
                        cache,
                        reading,
                        true,
                        kEvents,
                        idle,
                        take_device};

}  // namespace
}  // namespace cuda

const Backend& cuda_backend() {
  // Streams that share one of the device's queues wait for each other: a message that waits for its
  // partner would hold up kernels. 32 is the most there are (CUDA C++ programming guide,
  // environment variables); read when the driver starts.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  // 35 without a driver (or with one that is too old), 100 with a driver and no device.
  if (status == cudaErrorInsufficientDriver)
    throw base::MissingError("cuda: no NVIDIA driver, or one older than this build's CUDA " +
                             std::to_string(CUDART_VERSION / 1000) + "." +
                             std::to_string(CUDART_VERSION % 1000 / 10));
  if (status != cudaSuccess || devices == 0)
    throw base::MissingError(std::string("cuda: no device: ") + cudaGetErrorString(status));
  return cuda::kCuda;
}

}  // namespace paceline::kernels
