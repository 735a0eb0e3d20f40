// SPDX-License-Identifier: Apache-2.0
#include "kernels/filled_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "kernels/check.hpp"

namespace paceline::kernels {
namespace {

constexpr std::int64_t kBlock = std::int64_t{1} << 16;
constexpr std::int64_t kLooked = std::int64_t{1} << 20;  // elements of an output that are looked at

bool is_float(DType type) { return type != DType::U8 && type != DType::I32 && type != DType::U32; }
bool is_input(const TensorSpec& spec) { return spec.use == Use::In || spec.use == Use::InOut; }

/// What an input repeats, in its type.
std::vector<unsigned char> block_of(const TensorSpec& spec, base::Rng& rng) {
  const bool repeats =
      spec.fill == Fill::Normal || spec.fill == Fill::Uniform || spec.fill == Fill::Whole;
  TensorSpec block = spec;
  if (repeats) block.count = std::min(spec.count, kBlock);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(block.count) * bytes_of(spec.type));
  const std::vector<double> values = random_values(block, rng);
  for (std::int64_t i = 0; i < block.count; ++i)
    set_element(bytes.data(), spec.type, i, values[static_cast<std::size_t>(i)]);
  return bytes;
}

void fill_input(const TensorSpec& spec, void* data, const Backend& backend,
                const std::vector<unsigned char>& block) {
  const std::size_t all = static_cast<std::size_t>(spec.count) * bytes_of(spec.type);
  auto* to = static_cast<unsigned char*>(data);
  for (std::size_t done = 0; done < all; done += block.size())
    backend.to_device(to + done, block.data(), std::min(block.size(), all - done));
}

}  // namespace

InputBlocks blocks_of(const std::vector<TensorSpec>& specs, std::uint64_t seed) {
  base::Rng rng(seed);
  InputBlocks blocks;
  for (const TensorSpec& spec : specs)
    blocks.push_back(is_input(spec) ? block_of(spec, rng) : std::vector<unsigned char>());
  return blocks;
}

double bytes_of(const std::vector<TensorSpec>& specs) {
  double bytes = 0;
  for (const TensorSpec& spec : specs)
    bytes += static_cast<double>(spec.count) * static_cast<double>(bytes_of(spec.type));
  return bytes;
}

FilledTensors::FilledTensors(const std::vector<TensorSpec>& specs, const InputBlocks& blocks,
                             const Backend& backend)
    : specs_(specs), backend_(backend) {
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const TensorSpec& spec = specs[i];
    buffers_.emplace_back(backend, static_cast<std::size_t>(spec.count) * bytes_of(spec.type),
                          spec.on_host);
    void* data = buffers_.back().data();
    if (is_input(spec))
      fill_input(spec, data, backend, blocks[i]);
    else if (spec.on_host)
      std::memset(data, 0xff, buffers_.back().bytes());
    else
      backend.fill(data, 0xff, buffers_.back().bytes());
    tensors_.push_back({data, spec.type, spec.count});
  }
}

void FilledTensors::check_outputs(const std::string& label) const {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const TensorSpec& spec = specs_[i];
    if (!is_float(spec.type) || spec.use == Use::In || spec.use == Use::Scratch) continue;
    const std::int64_t count = std::min(spec.count, kLooked);
    std::vector<unsigned char> bytes(static_cast<std::size_t>(count) * bytes_of(spec.type));
    backend_.to_host(bytes.data(), tensors_[i].data, bytes.size());
    for (std::int64_t k = 0; k < count; ++k) {
      const double value = element(bytes.data(), spec.type, k);
      if (std::isfinite(value)) continue;
      throw base::Error(label,
                        std::string(spec.name) + "[" + std::to_string(k) + "] is " +
                            (std::isnan(value) ? "not a number" : "infinite") + " after the run",
                        "paceline bench --check compares the kernel with its reference");
    }
  }
}

}  // namespace paceline::kernels
