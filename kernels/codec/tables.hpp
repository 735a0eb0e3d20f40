// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "kernels/operation.hpp"

/// Rows that the codecs' tables share.
namespace paceline::kernels {

inline const std::vector<DType> kFloats = {DType::F32, DType::Bf16, DType::F16};
inline const std::vector<DType> kWordType = {DType::U32};

/// Of `count` elements.
inline double stored_bytes(const Case& c) {
  return static_cast<double>(c.shape["count"]) * static_cast<double>(bytes_of(c.type));
}

inline std::vector<Shape> count_bench_shapes() {
  return {{{"count", 1 << 20}}, {{"count", 1 << 24}}, {{"count", 1 << 26}}};
}

/// Of votes: odd, even and enough workers for each number of counter planes.
inline std::vector<Shape> vote_test_shapes() {
  return {{{"count", 1}, {"workers", 1}},
          {{"count", 33}, {"workers", 2}},
          {{"count", 9000}, {"workers", 7}},
          {{"count", 257}, {"workers", 16}},
          {{"count", 65}, {"workers", 257}}};
}
inline std::vector<Shape> vote_bench_shapes() {
  return {{{"count", 1 << 24}, {"workers", 8}}, {{"count", 1 << 26}, {"workers", 64}}};
}

}  // namespace paceline::kernels
