// SPDX-License-Identifier: Apache-2.0
#include "kernels/ember/ember.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/adamw/step.hpp"
#include "kernels/cpu_rows.hpp"
#include "kernels/dispatch.hpp"

namespace paceline::kernels {
namespace {

using numeric::Ember;

std::int64_t parts(std::int64_t extent, std::int64_t size) { return (extent + size - 1) / size; }

std::vector<TensorSpec> tensors(const Case& c) {
  const std::int64_t rows = c.shape["rows"], columns = c.shape["columns"];
  std::vector<TensorSpec> result = {
      {"g", Use::In, DType::F32, rows * columns},
      {"w", Use::InOut, DType::F32, rows * columns, Fill::Normal, 1, kStepTolerance},
      {"r", Use::InOut, DType::F32, rows, Fill::Uniform, 1, kStepTolerance},
      {"c", Use::InOut, DType::F32, columns, Fill::Uniform, 1, kStepTolerance},
      {"s", Use::InOut, DType::F32, 1, Fill::Uniform, 1, kStepTolerance},
      {"settings", Use::In, DType::F32, kSettings<Ember>, Fill::Uniform, 1},
      {"row_parts", Use::Scratch, DType::F32, parts(columns, kEmberTile) * rows},
      {"column_parts", Use::Scratch, DType::F32, parts(rows, kEmberChunk) * columns}};
  if (c.type != DType::F32)
    result.push_back({"copy", Use::Out, c.type, rows * columns, Fill::Normal, 1, kStepTolerance});
  return result;
}

/// The gradient twice, the weights there and back.
Work work(const Case& c) {
  const auto count = static_cast<double>(c.shape["rows"] * c.shape["columns"]);
  const double copy = c.type == DType::F32 ? 0 : static_cast<double>(bytes_of(c.type));
  return {10 * count, count * (16 + copy)};
}

void reference(const Case& c, Values& v) {
  const auto rows = static_cast<std::size_t>(c.shape["rows"]),
             columns = static_cast<std::size_t>(c.shape["columns"]);
  const auto& settings = v[kEmberSettings];
  const auto& g = v[kEmberGradient];
  std::vector<double> row_means(rows), column_means(columns);
  double mean = 0;
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double square = g[i] * g[i];
    row_means[i / columns] += square / static_cast<double>(columns);
    column_means[i % columns] += square / static_cast<double>(rows);
    mean += square / static_cast<double>(g.size());
  }
  const auto average = [&](double& old, double now) {
    old = settings[1] * old + (1 - settings[1]) * now;
  };
  for (std::size_t i = 0; i < rows; ++i) average(v[kEmberRows][i], row_means[i]);
  for (std::size_t j = 0; j < columns; ++j) average(v[kEmberColumns][j], column_means[j]);
  average(v[kEmberAll][0], mean);
  for (std::size_t i = 0; i < g.size(); ++i) {
    const double second = v[kEmberRows][i / columns] * v[kEmberColumns][i % columns] /
                          (v[kEmberAll][0] * settings[3]);
    v[kEmberWeight][i] -= settings[0] * g[i] / (std::sqrt(second) + settings[2]);
  }
  if (v.size() > kEmberCopy) v[kEmberCopy] = v[kEmberWeight];
}

/// Row and column averages and that of all, from the gradient.
void average_cpu(const Call& call, const Ember& rule) {
  const std::int64_t rows = call["rows"], columns = call["columns"];
  float* sums = call.at<float>(kEmberColumnParts);
  std::fill_n(sums, columns, 0.0F);
  double all = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const float* g = call.at<float>(kEmberGradient) + i * columns;
    const float row = sum_over(columns, [&](std::int64_t j) { return g[j] * g[j]; });
    for (std::int64_t j = 0; j < columns; ++j) sums[j] += g[j] * g[j];
    float& average = call.at<float>(kEmberRows)[i];
    average = ember_average(rule, average, row / static_cast<float>(columns));
    all += static_cast<double>(row);
  }
  for (std::int64_t j = 0; j < columns; ++j) {
    float& average = call.at<float>(kEmberColumns)[j];
    average = ember_average(rule, average, sums[j] / static_cast<float>(rows));
  }
  float& average = *call.at<float>(kEmberAll);
  average =
      ember_average(rule, average, static_cast<float>(all / static_cast<double>(rows * columns)));
}

template <class T>
void cpu(const Call& call) {
  const std::int64_t rows = call["rows"], columns = call["columns"];
  const auto rule = settings_at<Ember>(call.at<float>(kEmberSettings));
  average_cpu(call, rule);
  const float* column = call.at<float>(kEmberColumns);
  for (std::int64_t i = 0; i < rows; ++i) {
    const float row = ember_row(rule, call.at<float>(kEmberRows)[i], *call.at<float>(kEmberAll));
    const float* g = call.at<float>(kEmberGradient) + i * columns;
    float* w = call.at<float>(kEmberWeight) + i * columns;
    for (std::int64_t j = 0; j < columns; ++j) ember_apply(rule, g[j], row, column[j], w[j]);
    if constexpr (!std::is_same_v<T, float>) {
      T* copy = call.at<T>(kEmberCopy) + i * columns;
      for (std::int64_t j = 0; j < columns; ++j) copy[j] = T(w[j]);
    }
  }
}

std::vector<Shape> test_shapes() {
  return {{{"rows", 1}, {"columns", 1}},
          {{"rows", 19}, {"columns", 7}},
          {{"rows", 5}, {"columns", 300}},
          {{"rows", 261}, {"columns", 132}}};
}
std::vector<Shape> bench_shapes() {
  return {{{"rows", 4096}, {"columns", 512}},
          {{"rows", 50304}, {"columns", 768}},
          {{"rows", 128256}, {"columns", 4096}}};
}

}  // namespace

std::vector<Operation> ember_operations() {
  return {{"ember",
           "step",
           "token tables: second moments as a product of row and column means",
           {DType::F32, DType::Bf16, DType::F16},
           tensors,
           work,
           test_shapes,
           bench_shapes,
           reference,
           [](const Call& call) { PACELINE_BY_TYPE(call, cpu); },
           PACELINE_ON_DEVICE(ember_step)}};
}

}  // namespace paceline::kernels
