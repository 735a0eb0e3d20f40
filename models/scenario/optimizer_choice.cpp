// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/message.hpp"
#include "models/scenario/read_parts.hpp"
#include "models/scenario/set_values.hpp"

/// `optimizer` of a scenario.
namespace paceline::models {
namespace {

using base::Fields;

constexpr std::array<std::string_view, 3> kOptimizers{"adam", "adamw", "sgd"};

constexpr std::array<base::Named<OptimizerKernel>, 3> kOptimizerKernels{
    {{"framework", OptimizerKernel::Framework},
     {"fused", OptimizerKernel::Fused},
     {"epilogue", OptimizerKernel::Epilogue}}};
constexpr std::array<base::Named<bool>, 2> kTableOptimizers{{{"same", false}, {"ember", true}}};
constexpr std::array<base::Named<OptimizerDevice>, 3> kOptimizerDevices{
    {{"gpu", OptimizerDevice::Gpu},
     {"cpu", OptimizerDevice::Cpu},
     {"nvme", OptimizerDevice::Nvme}}};

/// `device: cpu` and what goes with it.
OptimizerOffload read_optimizer_offload(Fields& fields) {
  OptimizerOffload offload;
  offload.device = fields.choice<OptimizerDevice>("device", kOptimizerDevices, offload.device);
  for (const char* key : {"cpu_rate", "beside_backward", "gradients", "subgroups", "device_share"})
    if (!offload.host() && fields.has(key))
      fields.fail(key, "means nothing on the device itself", "device: cpu or nvme");
  if (!offload.host()) return offload;
  offload.cpu_rate = fields.number("cpu_rate", 1e6, 1e15, kCpuAdamRate);
  offload.beside_backward = fields.flag("beside_backward", true);
  offload.gradients = fields.choice<Precision>("gradients", kPrecisions, Precision::Bf16);
  offload.subgroups = static_cast<int>(fields.integer("subgroups", 1, 4096, offload.subgroups));
  offload.device_share = fields.number("device_share", 0, 1, 0);
  if (offload.device == OptimizerDevice::Nvme) {
    offload.read = fields.rate("read");
    offload.write = fields.rate("write");
    for (const char* key : {"read", "write"})
      if (fields.rate(key).value <= 0)
        fields.fail(key, "is not above 0", "what the drives of one node take, for example 6 GB/s");
  }
  return offload;
}

}  // namespace

OptimizerChoice detail::read_optimizer(Fields& scenario, const base::Document& document) {
  OptimizerChoice choice;
  const base::Value* value = scenario.find("optimizer");
  if (value == nullptr) return choice;
  const bool scalar = value->kind == base::Value::Kind::Scalar;
  if (scalar) {
    choice.name = value->text;
  } else {
    Fields fields(document, *value, "optimizer");
    choice.name = fields.text("name", choice.name);
    const base::Value* master = fields.find("master");
    choice.keeps_master = master == nullptr || master->text != "none";
    if (choice.keeps_master)
      choice.master = fields.choice<Precision>("master", kPrecisions, Precision::Fp32);
    choice.states = fields.choice<Precision>("states", kPrecisions, Precision::Fp32);
    choice.kernel =
        fields.choice<OptimizerKernel>("kernel", kOptimizerKernels, OptimizerKernel::Framework);
    choice.efficiency = fields.number("efficiency", 0.01, 1, 1);
    if (fields.has("efficiency") && choice.kernel == OptimizerKernel::Framework)
      fields.fail("efficiency", "means nothing with kernel: framework",
                  "kernel: fused or epilogue");
    choice.ember_tables = fields.choice<bool>("tables", kTableOptimizers, false);
    choice.norm_barrier = fields.flag("norm_barrier", true);
    choice.offload = read_optimizer_offload(fields);
    if (choice.offload.host() && choice.kernel == OptimizerKernel::Epilogue)
      fields.fail("device", "does not go with kernel: epilogue", "kernel: framework or fused");
    fields.done();
  }
  if (std::find(kOptimizers.begin(), kOptimizers.end(), choice.name) == kOptimizers.end()) {
    scenario.fail("optimizer", "unknown optimizer " + base::quote(choice.name),
                  "one of adam, adamw, sgd");
  }
  return choice;
}

}  // namespace paceline::models
