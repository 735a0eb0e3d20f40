// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/backend.hpp"

namespace paceline::kernels::train {

class Device;

/// Memory for elements of four bytes that goes back to its device's pool. Empty when default made.
class Block {
 public:
  Block() = default;
  Block(Device& device, Buffer buffer, std::int64_t count)
      : device_(&device), buffer_(std::move(buffer)), count_(count) {}
  Block(Block&& other) noexcept { *this = std::move(other); }
  Block& operator=(Block&& other) noexcept;
  ~Block() { release(); }

  explicit operator bool() const { return device_ != nullptr; }
  std::int64_t count() const { return count_; }
  /// All of it, or `count` elements from `offset`.
  Tensor floats() const { return {data(), DType::F32, count_}; }
  Tensor floats(std::int64_t offset, std::int64_t count) const;
  Tensor integers() const { return {data(), DType::I32, count_}; }
  void release();

 private:
  void* data() const { return buffer_ ? buffer_->data() : nullptr; }
  Device* device_ = nullptr;
  std::optional<Buffer> buffer_;
  std::int64_t count_ = 0;
};

/// A tensor by the name that its operation has for it.
struct Bound {
  std::string_view name;
  Tensor tensor;
};

/// A backend, one stream of it, and memory that is used again and again: all work goes through the
/// stream, so a block may be given back while work on it is still under way. Outlives its blocks.
class Device {
 public:
  explicit Device(const Backend& backend)
      : backend_(&backend), stream_(backend.make_stream(), backend.drop_stream) {}
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Backend& backend() const { return *backend_; }
  Stream stream() const { return stream_.stream; }
  /// Undefined values; `zeros`: all bits 0.
  Block take(std::int64_t count);
  Block zeros(std::int64_t count);
  void clear(const Block& block);
  Block copy_of(const Tensor& values);
  void copy(const Tensor& from, const Tensor& to);
  void give(Buffer buffer);
  /// Until the stream has done everything.
  void wait() const { backend_->wait(stream_.stream); }

  Block to_device(const std::vector<std::int32_t>& values);
  void to_device(const Tensor& to, const std::vector<float>& values);
  std::vector<float> to_host(const Tensor& from) const;

  /// Runs an operation in fp32 with tensors bound by name; scratch tensors and those without
  /// elements need not be given. base::MissingError where the backend lacks it; a name, type or
  /// count that does not fit is an invariant of ours.
  void run(std::string_view kernel, std::string_view pass, const Shape& shape,
           std::initializer_list<Bound> tensors);

 private:
  struct OwnStream {
    OwnStream(Stream made, void (*drop_it)(Stream)) : stream(made), drop(drop_it) {}
    OwnStream(const OwnStream&) = delete;
    OwnStream& operator=(const OwnStream&) = delete;
    ~OwnStream() { drop(stream); }
    Stream stream;
    void (*drop)(Stream);
  };
  const Operation& find(std::string_view kernel, std::string_view pass) const;

  const Backend* backend_;
  OwnStream stream_;
  std::map<std::size_t, std::vector<Buffer>> free_;  ///< by bytes
};

}  // namespace paceline::kernels::train
