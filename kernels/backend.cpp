// SPDX-License-Identifier: Apache-2.0
#include "kernels/backend.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/error.hpp"
#include "kernels/host_load.hpp"

namespace paceline::kernels {
namespace {

constexpr std::size_t kAlignment = 64;

void* allocate(std::size_t bytes) {
  void* data = std::aligned_alloc(kAlignment, (bytes + kAlignment) / kAlignment * kAlignment);
  if (data == nullptr)
    throw base::Error("cpu", "no memory for " + std::to_string(bytes) + " bytes",
                      "smaller shapes need less");
  return data;
}

void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

void fill(void* data, int byte, std::size_t bytes) { std::memset(data, byte, bytes); }

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos)
      return line.substr(colon + 2);
  }
  return "unknown processor";
}

double memory_of_a_core() { return total_memory() / core_count(); }
int one() { return 1; }
double last_cache() {
  constexpr double kUsual = 32e6;
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<double>(bytes) : kUsual;
}
GpuReading clock_of_core() {
  GpuReading reading;
  if (const double clock = core_clock(); clock > 0) reading.clock_MHz = clock / 1e6;
  return reading;
}

Stream no_stream() { return {}; }
void ignore(Stream) {}

using Clock = std::chrono::steady_clock;
Clock::time_point& time_of(Event event) { return *static_cast<Clock::time_point*>(event.handle); }

/// Work is done when run() returns, so nothing waits for an event.
constexpr EventFunctions kTimes{
    [] { return Event{new Clock::time_point}; }, [](Event event) { delete &time_of(event); },
    [](Event event, Stream) { time_of(event) = Clock::now(); }, [](Stream, Event) {},
    [](Event from, Event to) {
      return std::chrono::duration<double>(time_of(to) - time_of(from)).count();
    }};
std::string no_device(int) { return ""; }

constexpr Backend kCpu{"cpu",
                       allocate,
                       std::free,
                       copy,
                       copy,
                       fill,
                       no_stream,
                       ignore,
                       ignore,
                       [](const Operation& o) { return o.cpu != nullptr; },
                       [](const Operation& o, const Call& call, Stream) { o.cpu(call); },
                       allocate,
                       std::free,
                       processor,
                       memory_of_a_core,
                       one,
                       last_cache,
                       clock_of_core,
                       false,
                       kTimes,
                       nullptr,
                       no_device};

constexpr Backend kSimt{"simt",
                        allocate,
                        std::free,
                        copy,
                        copy,
                        fill,
                        no_stream,
                        ignore,
                        ignore,
                        [](const Operation& o) { return o.simt != nullptr; },
                        [](const Operation& o, const Call& call, Stream s) { o.simt(call, s); },
                        allocate,
                        std::free,
                        processor,
                        memory_of_a_core,
                        one,
                        last_cache,
                        clock_of_core,
                        false,
                        kTimes,
                        nullptr,
                        no_device};

}  // namespace

const Backend& cpu_backend() { return kCpu; }
const Backend& simt_backend() { return kSimt; }

const Backend& backend_named(std::string_view name) {
  if (name == "cpu") return cpu_backend();
  if (name == "simt") return simt_backend();
  if (name == "cuda") return cuda_backend();
  throw base::Error("backend", "'" + std::string(name) + "' is not one", "there are cpu and cuda");
}

}  // namespace paceline::kernels
