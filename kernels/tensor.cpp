// SPDX-License-Identifier: Apache-2.0
#include "kernels/tensor.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace paceline::kernels {
namespace {

using numeric::bf16;
using numeric::fp16;
using numeric::fp8_e4m3;
using numeric::fp8_e5m2;

struct Named {
  DType type;
  std::string_view name;
  std::size_t bytes;
};
constexpr Named kTypes[] = {{DType::F32, "fp32", 4},      {DType::Bf16, "bf16", 2},
                            {DType::F16, "fp16", 2},      {DType::E4m3, "fp8-e4m3", 1},
                            {DType::E5m2, "fp8-e5m2", 1}, {DType::U8, "u8", 1},
                            {DType::I32, "i32", 4},       {DType::U32, "u32", 4}};

/// Calls f with a null pointer of the stored type.
template <class F>
auto with_type(DType type, const F& f) {
  switch (type) {
    case DType::F32:
      return f(static_cast<float*>(nullptr));
    case DType::Bf16:
      return f(static_cast<bf16*>(nullptr));
    case DType::F16:
      return f(static_cast<fp16*>(nullptr));
    case DType::E4m3:
      return f(static_cast<fp8_e4m3*>(nullptr));
    case DType::E5m2:
      return f(static_cast<fp8_e5m2*>(nullptr));
    case DType::U8:
      return f(static_cast<std::uint8_t*>(nullptr));
    case DType::I32:
      return f(static_cast<std::int32_t*>(nullptr));
    case DType::U32:
      break;
  }
  return f(static_cast<std::uint32_t*>(nullptr));
}

}  // namespace

std::size_t bytes_of(DType type) { return kTypes[static_cast<std::size_t>(type)].bytes; }
std::string_view name_of(DType type) { return kTypes[static_cast<std::size_t>(type)].name; }

DType dtype_named(std::string_view name) {
  std::string known;
  for (const Named& t : kTypes) {
    if (t.name == name) return t.type;
    known += (known.empty() ? "" : ", ") + std::string(t.name);
  }
  throw base::Error("type", "'" + std::string(name) + "' is not one", "there are " + known);
}

Shape::Shape(std::initializer_list<std::pair<std::string_view, std::int64_t>> extents) {
  for (const auto& [name, value] : extents) extents_.emplace_back(name, value);
}

bool Shape::has(std::string_view name) const {
  return std::any_of(extents_.begin(), extents_.end(),
                     [&](const auto& e) { return e.first == name; });
}

std::int64_t Shape::operator[](std::string_view name) const {
  const auto found = std::find_if(extents_.begin(), extents_.end(),
                                  [&](const auto& e) { return e.first == name; });
  PACELINE_CHECK(found != extents_.end());
  return found->second;
}

void Shape::set(std::string_view name, std::int64_t value) {
  for (auto& [key, old] : extents_) {
    if (key != name) continue;
    old = value;
    return;
  }
  extents_.emplace_back(name, value);
}

std::string Shape::text() const {
  std::string result;
  for (const auto& [name, value] : extents_)
    result += (result.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return result;
}

double element(const void* data, DType type, std::int64_t i) {
  return with_type(type, [&](auto* null) {
    using T = std::remove_pointer_t<decltype(null)>;
    const T value = static_cast<const T*>(data)[i];
    if constexpr (std::is_arithmetic_v<T>) {
      return static_cast<double>(value);
    } else {
      return static_cast<double>(static_cast<float>(value));
    }
  });
}

void set_element(void* data, DType type, std::int64_t i, double value) {
  with_type(type, [&](auto* null) {
    using T = std::remove_pointer_t<decltype(null)>;
    if constexpr (std::is_arithmetic_v<T>) {
      static_cast<T*>(data)[i] = static_cast<T>(value);
    } else {
      static_cast<T*>(data)[i] = T(static_cast<float>(value));
    }
  });
}

}  // namespace paceline::kernels
