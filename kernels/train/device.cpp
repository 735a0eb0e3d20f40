// SPDX-License-Identifier: Apache-2.0
#include "kernels/train/device.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace paceline::kernels::train {
namespace {

constexpr std::size_t kElement = 4, kStep = 256;  // bytes

std::size_t rounded_bytes(std::int64_t count) {
  const std::size_t bytes = static_cast<std::size_t>(std::max<std::int64_t>(count, 1)) * kElement;
  return (bytes + kStep - 1) / kStep * kStep;
}

/// What the operation gets for one of its tensors; null data where nobody gave it.
Tensor bound(const TensorSpec& spec, std::initializer_list<Bound> tensors) {
  for (const Bound& b : tensors) {
    if (b.name != spec.name) continue;
    PACELINE_CHECK(b.tensor.type == spec.type && b.tensor.count == spec.count);
    return b.tensor;
  }
  return {nullptr, spec.type, spec.count};
}

}  // namespace

Block& Block::operator=(Block&& other) noexcept {
  if (this == &other) return *this;
  release();
  device_ = std::exchange(other.device_, nullptr);
  buffer_ = std::move(other.buffer_);
  other.buffer_.reset();
  count_ = std::exchange(other.count_, 0);
  return *this;
}

void Block::release() {
  if (device_ != nullptr && buffer_) device_->give(std::move(*buffer_));
  device_ = nullptr;
  buffer_.reset();
  count_ = 0;
}

Tensor Block::floats(std::int64_t offset, std::int64_t count) const {
  PACELINE_CHECK(offset >= 0 && count >= 0 && offset + count <= count_);
  return {static_cast<float*>(data()) + offset, DType::F32, count};
}

Block Device::take(std::int64_t count) {
  const std::size_t bytes = rounded_bytes(count);
  std::vector<Buffer>& free = free_[bytes];
  if (free.empty()) return {*this, Buffer(*backend_, bytes), count};
  Buffer buffer = std::move(free.back());
  free.pop_back();
  return {*this, std::move(buffer), count};
}

Block Device::zeros(std::int64_t count) {
  Block block = take(count);
  clear(block);
  return block;
}

void Device::clear(const Block& block) {
  wait();  // fill is no part of the stream
  backend_->fill(block.floats().data, 0, static_cast<std::size_t>(block.count()) * kElement);
}

Block Device::copy_of(const Tensor& values) {
  Block block = take(values.count);
  copy(values, block.floats());
  return block;
}

void Device::copy(const Tensor& from, const Tensor& to) {
  PACELINE_CHECK(from.count == to.count);
  run("copy-d2d", "forward", {{"bytes", from.count * std::int64_t{kElement}}},
      {{"from", {from.data, DType::U32, from.count}}, {"to", {to.data, DType::U32, to.count}}});
}

void Device::give(Buffer buffer) {
  const std::size_t bytes = buffer.bytes();
  free_[bytes].push_back(std::move(buffer));
}

Block Device::to_device(const std::vector<std::int32_t>& values) {
  Block block = take(static_cast<std::int64_t>(values.size()));
  wait();
  backend_->to_device(block.integers().data, values.data(), values.size() * kElement);
  return block;
}

void Device::to_device(const Tensor& to, const std::vector<float>& values) {
  PACELINE_CHECK(to.count == std::ssize(values));
  wait();
  backend_->to_device(to.data, values.data(), values.size() * kElement);
}

std::vector<float> Device::to_host(const Tensor& from) const {
  std::vector<float> values(static_cast<std::size_t>(from.count));
  wait();
  backend_->to_host(values.data(), from.data, values.size() * kElement);
  return values;
}

const Operation& Device::find(std::string_view kernel, std::string_view pass) const {
  for (const Operation& operation : operations()) {
    if (operation.kernel != kernel || operation.pass != pass) continue;
    if (backend_->has(operation)) return operation;
  }
  throw base::MissingError("the " + std::string(backend_->name) + " backend has no " +
                           std::string(kernel) + " " + std::string(pass) +
                           ", which training needs");
}

void Device::run(std::string_view kernel, std::string_view pass, const Shape& shape,
                 std::initializer_list<Bound> tensors) {
  const Operation& operation = find(kernel, pass);
  const Case c{DType::F32, shape};
  std::vector<Tensor> arguments;
  std::vector<Block> scratch;
  std::size_t used = 0;
  for (const TensorSpec& spec : operation.tensors(c)) {
    Tensor tensor = bound(spec, tensors);
    if (tensor.data != nullptr) ++used;
    if (tensor.data == nullptr && spec.count > 0) {
      PACELINE_CHECK(spec.use == Use::Scratch);
      const auto bytes = spec.count * static_cast<std::int64_t>(bytes_of(spec.type));
      scratch.push_back(take((bytes + 3) / 4));
      tensor.data = scratch.back().floats().data;
    }
    arguments.push_back(tensor);
  }
  PACELINE_CHECK(used == tensors.size());
  backend_->run(operation, {c, arguments}, stream());
}

}  // namespace paceline::kernels::train
