// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/error.hpp"
#include "base/message.hpp"
#include "kernels/library.hpp"
#include "kernels/measure.hpp"

namespace paceline::kernels {
namespace {

// Work of one call that takes about a second on one core; nothing is too much for a device.
constexpr double kMostFlops = 5e10, kMostBytes = 2e9;
constexpr std::size_t kQuickShapes = 4;

bool contains(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool has(const Operation& operation, DType type) {
  return std::find(operation.types.begin(), operation.types.end(), type) != operation.types.end();
}

std::vector<DType> chosen_types(const Operation& operation, const Backend& backend,
                                const BenchChoice& choice) {
  std::vector<DType> types;
  for (const std::string& name : choice.types)
    if (has(operation, dtype_named(name))) types.push_back(dtype_named(name));
  if (!choice.types.empty()) return types;
  const bool device = std::string_view(backend.name) == "cuda";
  const DType usual = device ? DType::Bf16 : DType::F32;
  if (!has(operation, usual)) return {operation.types.front()};
  types.push_back(usual);
  // What else a training step there computes in.
  if (device && has(operation, DType::E4m3)) types.push_back(DType::E4m3);
  return types;
}

double weight(const BenchCase& c) {
  const Work work = c.operation->work(c.c);
  return work.flops + work.bytes;
}

void add_cases(std::vector<BenchCase>& cases, const Operation& operation, DType type,
               const Backend& backend, bool quick, std::size_t& left_out) {
  std::vector<BenchCase> here;
  for (const Shape& shape : operation.bench_shapes()) {
    const BenchCase c{&operation, {type, shape}};
    if (measurable(backend, c))
      here.push_back(c);
    else
      ++left_out;
  }
  if (quick && here.size() > kQuickShapes) {
    std::stable_sort(here.begin(), here.end(),
                     [](const BenchCase& a, const BenchCase& b) { return weight(a) < weight(b); });
    here.resize(kQuickShapes);
  }
  cases.insert(cases.end(), here.begin(), here.end());
}

}  // namespace

const Operation* find_operation(std::string_view kernel, std::string_view pass) {
  const auto& all = operations();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Operation& o) {
    return o.kernel == kernel && o.pass == pass;
  });
  return found == all.end() ? nullptr : &*found;
}

bool measurable(const Backend& backend, const BenchCase& c) {
  const bool device = std::string_view(backend.name) == "cuda";
  const Work work = c.operation->work(c.c);
  if (!device && (work.flops > kMostFlops || work.bytes > kMostBytes)) return false;
  double bytes = 0;
  for (const TensorSpec& spec : c.operation->tensors(c.c))
    bytes += static_cast<double>(spec.count) * static_cast<double>(bytes_of(spec.type));
  const double memory = device ? backend.memory() : free_memory();
  return memory <= 0 || bytes < memory / 2;
}

bool chosen(const BenchChoice& choice, const Operation& operation) {
  if (choice.only.empty()) return own_instead(operation) == nullptr;
  return contains(choice.only, operation.kernel);
}

void check_names(const BenchChoice& choice) {
  std::vector<std::string> kernels;
  for (const Operation& operation : operations())
    if (!contains(kernels, operation.kernel)) kernels.emplace_back(operation.kernel);
  for (const std::string& name : choice.only)
    if (!contains(kernels, name))
      throw base::Error("--only", "unknown kernel " + base::quote(name),
                        base::suggest(name, kernels, "one of"));
  for (const std::string& name : choice.types) dtype_named(name);
}

void require_named_libraries(const Backend& backend, const BenchChoice& choice) {
  for (const Operation& operation : operations())
    if (backend.has(operation) && contains(choice.only, operation.kernel))
      require_library(operation);
}

std::vector<BenchCase> bench_cases(const Backend& backend, const BenchChoice& choice,
                                   std::size_t& left_out) {
  check_names(choice);
  require_named_libraries(backend, choice);
  std::vector<BenchCase> cases;
  for (const Operation& operation : operations()) {
    if (!backend.has(operation) || !chosen(choice, operation)) continue;
    for (const DType type : chosen_types(operation, backend, choice))
      add_cases(cases, operation, type, backend, choice.quick, left_out);
  }
  return cases;
}

}  // namespace paceline::kernels
