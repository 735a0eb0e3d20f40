// SPDX-License-Identifier: Apache-2.0
#include "kernels/hardware_engine/work.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "kernels/library.hpp"
#include "kernels/measure.hpp"
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

bool supports(const Operation& operation, kernels::DType type) {
  return std::find(operation.types.begin(), operation.types.end(), type) != operation.types.end();
}

kernels::Case case_of(const KernelCall& call) {
  kernels::Case c{kernels::dtype_named(call.type), {}};
  for (const auto& [name, value] : call.extents) c.shape.set(name, value);
  return c;
}

struct Call {
  const Operation* operation;
  kernels::Case c;
};

bool does(const Backend& backend, const Operation& operation, const kernels::Case& c) {
  return backend.has(operation) && supports(operation, c.type) &&
         kernels::library_lacks(operation, c).empty();
}

/// The call's kernel; where a library's does not do it here, this program's own, and a note. Null
/// where there is neither.
const Operation* operation_of(const KernelCall& call, const kernels::Case& c,
                              const Backend& backend, std::string_view op, std::string& note) {
  const Operation* operation = kernels::find_operation(call.kernel, call.pass);
  if (operation == nullptr || does(backend, *operation, c)) return operation;
  const Operation* own = kernels::own_instead(*operation);
  if (own == nullptr || !does(backend, *own, c)) return nullptr;
  note = std::string(op) + ": " + own->kernel + " of this program for " + call.kernel;
  return own;
}
std::vector<Call> operations_of(const models::Op& op, const Backend& backend, std::string& note) {
  std::vector<Call> result;
  for (const KernelCall& call : calls_of(op, note)) {
    const kernels::Case c = case_of(call);
    const Operation* operation = operation_of(call, c, backend, op.name, note);
    if (operation == nullptr) {
      throw base::Error(std::string(op.name), std::string("the ") + backend.name +
                                                  " backend has no kernel " + call.kernel + " " +
                                                  call.pass + " in " + call.type);
    }
    result.push_back({operation, c});
  }
  return result;
}

}  // namespace

double bytes_of(const models::Op& op, const Backend& backend) {
  std::string note;
  double bytes = 0;
  for (const Call& call : operations_of(op, backend, note))
    bytes += kernels::bytes_of(call.operation->tensors(call.c));
  return bytes;
}

Work prepare(const models::Op& op, const Backend& backend, std::uint64_t seed, std::string& note) {
  Work work;
  for (const Call& call : operations_of(op, backend, note)) {
    const std::vector<kernels::TensorSpec> specs = call.operation->tensors(call.c);
    work.calls.push_back({call.operation, call.c,
                          std::make_unique<kernels::FilledTensors>(
                              specs, kernels::blocks_of(specs, seed), backend)});
  }
  return work;
}

void enqueue(const Work& work, const Backend& backend, kernels::Stream stream) {
  for (const Prepared& call : work.calls)
    backend.run(*call.operation, {call.c, call.tensors->tensors()}, stream);
}

void check_finite(const Work& work, const std::string& name) {
  for (const Prepared& call : work.calls)
    call.tensors->check_outputs(name + ", kernel " + call.operation->kernel + " " +
                                call.operation->pass);
}

}  // namespace paceline::hardware
