// SPDX-License-Identifier: Apache-2.0
#include "kernels/library.hpp"

#include <string_view>

#include "kernels/attention_cudnn/graphs.hpp"
#include "kernels/cudnn/api.hpp"
#include "kernels/measure.hpp"

namespace paceline::kernels {
namespace {

constexpr std::string_view kCudnn = "-cudnn";

bool of_cudnn(const Operation& operation) {
  return std::string_view(operation.kernel).ends_with(kCudnn);
}

}  // namespace

void require_library(const Operation& operation) {
  if (of_cudnn(operation)) cudnn::api();
}

std::string library_lacks(const Operation& operation, const Case& c) {
  if (!of_cudnn(operation)) return "";
  try {
    require_library(operation);
  } catch (const base::MissingError& missing) {
    return missing.what();
  }
  return no_attention_graph(c);
}

const Operation* own_instead(const Operation& operation) {
  if (!of_cudnn(operation)) return nullptr;
  std::string_view name = operation.kernel;
  name.remove_suffix(kCudnn.size());
  return find_operation(name, operation.pass);
}

}  // namespace paceline::kernels
