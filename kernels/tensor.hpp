// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/numeric/float_formats.hpp"

namespace paceline::kernels {

enum class DType : std::uint8_t { F32, Bf16, F16, E4m3, E5m2, U8, I32, U32 };

std::size_t bytes_of(DType type);
std::string_view name_of(DType type);
/// Throws base::Error naming the types there are.
DType dtype_named(std::string_view name);

/// Named extents of a kernel's problem, for example {{"rows", 4096}, {"columns", 5120}}.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<std::pair<std::string_view, std::int64_t>> extents);
  /// PACELINE_CHECKs that the name is there.
  std::int64_t operator[](std::string_view name) const;
  bool has(std::string_view name) const;
  void set(std::string_view name, std::int64_t value);
  const std::vector<std::pair<std::string, std::int64_t>>& extents() const { return extents_; }
  /// "rows=4096 columns=5120"
  std::string text() const;
  bool operator==(const Shape&) const = default;

 private:
  std::vector<std::pair<std::string, std::int64_t>> extents_;
};

/// Memory of a backend.
struct Tensor {
  void* data = nullptr;
  DType type = DType::F32;
  std::int64_t count = 0;
  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
};

/// Reads and writes elements as double; integers exactly.
double element(const void* data, DType type, std::int64_t i);
void set_element(void* data, DType type, std::int64_t i, double value);

}  // namespace paceline::kernels
