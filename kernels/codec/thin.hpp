// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

/// Products with thin matrices on the processor, and their references; matrices row by row. Loops
/// run along rows in memory, so that they become vector instructions without changing the order of
/// sums.
namespace paceline::kernels {

/// y += factor * x.
inline void add_multiple(float factor, const float* x, float* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

/// c = a b: a of rows x depth, b of depth x columns.
template <class T>
void times_thin(const T* a, const float* b, float* c, std::int64_t rows, std::int64_t depth,
                std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i) {
    float* row = c + i * columns;
    for (std::int64_t j = 0; j < columns; ++j) row[j] = 0;
    for (std::int64_t k = 0; k < depth; ++k)
      add_multiple(static_cast<float>(a[i * depth + k]), b + k * columns, row, columns);
  }
}

inline void transpose(const float* from, float* to, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  }
}

/// In double: sum over k of a(i, k) * b(k, j).
template <class A, class B>
std::vector<double> product_reference(std::size_t rows, std::size_t columns, std::size_t depth,
                                      const A& a, const B& b) {
  std::vector<double> c(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t k = 0; k < depth; ++k) c[i * columns + j] += a(i, k) * b(k, j);
    }
  }
  return c;
}

}  // namespace paceline::kernels
