// SPDX-License-Identifier: Apache-2.0
#include "kernels/hardware_engine/work.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "models/workload/kernel_calls.hpp"

namespace paceline::hardware {
namespace {

using kernels::Backend;
using kernels::Operation;
using models::KernelCall;

std::vector<KernelCall> calls_of(const models::Op& op, std::string& note) {
  if (op.kernel == "adamw" || op.kernel == "sgd")
    return {{std::string(op.kernel), "step", "fp32", {{"parameters", std::llround(op.m)}}}};
  std::vector<KernelCall> calls = models::own_kernel_calls(op);
  if (!calls.empty()) return calls;
  calls = models::kernel_calls(op);
  if (!calls.empty())
    note = std::string(op.name) + ": " + calls.front().kernel + " of as many bytes";
  return calls;
}

const Operation* find(const KernelCall& call) {
  for (const Operation& operation : kernels::operations()) {
    if (operation.kernel == call.kernel && operation.pass == call.pass) return &operation;
  }
  return nullptr;
}

bool supports(const Operation& operation, kernels::DType type) {
  return std::find(operation.types.begin(), operation.types.end(), type) != operation.types.end();
}

kernels::Case case_of(const KernelCall& call) {
  kernels::Case c{kernels::dtype_named(call.type), {}};
  for (const auto& [name, value] : call.extents) c.shape.set(name, value);
  return c;
}

}  // namespace

Work prepare(const models::Op& op, const Backend& backend, std::uint64_t seed, std::string& note) {
  Work work;
  for (const KernelCall& call : calls_of(op, note)) {
    const Operation* operation = find(call);
    const kernels::Case c = case_of(call);
    if (operation == nullptr || !backend.has(*operation) || !supports(*operation, c.type)) {
      throw base::Error(std::string(op.name), std::string("the ") + backend.name +
                                                  " backend has no kernel " + call.kernel + " " +
                                                  call.pass + " in " + call.type);
    }
    work.calls.push_back(
        {operation, std::make_unique<kernels::Arguments>(*operation, c, backend, seed)});
  }
  return work;
}

void enqueue(const Work& work, const Backend& backend, kernels::Stream stream) {
  for (const Prepared& call : work.calls)
    backend.run(*call.operation, call.arguments->call(), stream);
}

void check_finite(const Work& work, const std::string& name) {
  for (const Prepared& call : work.calls) {
    const kernels::Values values = call.arguments->values();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const kernels::TensorSpec& spec = call.arguments->specs()[i];
      if (spec.use != kernels::Use::Out && spec.use != kernels::Use::InOut) continue;
      for (const double value : values[i]) {
        if (std::isfinite(value)) continue;
        throw base::Error(name, std::string("kernel ") + call.operation->kernel + " " +
                                    call.operation->pass + " gave " + std::to_string(value) +
                                    " in " + spec.name);
      }
    }
  }
}

}  // namespace paceline::hardware
