// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "kernels/cuda/nvml.hpp"
#include "kernels/operation.hpp"

namespace paceline::kernels {

/// Moments of streams, and what hangs on them.
struct EventFunctions {
  Event (*make)();
  void (*drop)(Event);
  /// When the stream has done all that was enqueued before.
  void (*record)(Event, Stream);
  /// What is enqueued from now on starts after the event, as recorded last.
  void (*await)(Stream, Event);
  /// Between two that have happened.
  double (*seconds)(Event from, Event to);
};

/// Where operations run and their tensors live: a table of functions, all of one device and one
/// stream of it at a time.
struct Backend {
  const char* name;  ///< "cpu", "cuda", "simt"
  /// Throws base::Error when there is not enough memory.
  void* (*allocate)(std::size_t bytes);
  void (*release)(void* data);
  void (*to_device)(void* to, const void* from, std::size_t bytes);  ///< waits
  void (*to_host)(void* to, const void* from, std::size_t bytes);    ///< waits
  void (*fill)(void* data, int byte, std::size_t bytes);             ///< waits
  Stream (*make_stream)();
  void (*drop_stream)(Stream);
  void (*wait)(Stream);
  bool (*has)(const Operation&);
  /// Enqueues the operation, which has() says is there.
  void (*run)(const Operation&, const Call&, Stream);
  /// Page-locked memory of the host, where the device is another.
  void* (*allocate_on_host)(std::size_t bytes);
  void (*release_on_host)(void* data);
  /// Of the processor or device: "AMD EPYC 9554", "NVIDIA H200".
  std::string (*device)();
  /// Memory one rank may use, in bytes: of the device, or its share of the machine's; 0: unknown.
  double (*memory)();
  /// Of the device; 1 of a processor, where a rank is one thread.
  int (*multiprocessors)();
  /// Bytes that stay near the multiprocessors from one kernel to the next: the last cache.
  double (*cache)();
  /// Power, clock and temperature now; nothing of each where the device or driver does not tell.
  GpuReading (*reading)();
  /// run() returns before the work is done, which goes on in its stream.
  bool enqueues;
  EventFunctions events;
  /// Lets the stream pass time without work; null where run() does the work at once.
  void (*idle)(double seconds, Stream);
  /// Makes one of the node's devices that of this process, by its number among the node's ranks;
  /// what the node calls it, "" for a processor.
  std::string (*take_device)(int local_rank);
};

const Backend& cpu_backend();
/// CUDA kernels without tensor cores on the processor, thread by thread: for tests, not for speed.
const Backend& simt_backend();
/// Throws base::MissingError in one line: a build without CUDA, no driver, no device.
const Backend& cuda_backend();
const Backend& backend_named(std::string_view name);

/// Memory of a backend, or of the host beside it.
class Buffer {
 public:
  Buffer(const Backend& backend, std::size_t bytes, bool on_host = false)
      : data_(on_host ? backend.allocate_on_host(bytes) : backend.allocate(bytes),
              on_host ? backend.release_on_host : backend.release),
        bytes_(bytes) {}
  void* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, void (*)(void*)> data_;
  std::size_t bytes_;
};

}  // namespace paceline::kernels
