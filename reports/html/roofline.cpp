// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include "models/cost/kernel.hpp"
#include "models/workload/layer_ops.hpp"
#include "reports/html/view.hpp"
#include "sim/lower/pass_cost.hpp"

namespace paceline::reports {

namespace {

using models::Op;

/// One layer's kernels, both directions, as `times` layers of the model run them.
struct KernelList {
  std::string of;
  std::int64_t times = 1;
  std::vector<Op> ops;
};

std::vector<KernelList> kernel_lists(const models::Scenario& s, const models::LayerShape& shape) {
  std::vector<KernelList> lists;
  for (std::size_t kind = 0; kind < s.model.kinds.size(); ++kind) {
    KernelList list;
    list.of = s.model.kinds.size() == 1 ? "layer" : "layer kind " + std::to_string(kind + 1);
    list.times = std::count(s.model.layers.begin(), s.model.layers.end(), static_cast<int>(kind));
    models::append_forward(list.ops, s.model, s.model.kinds[kind], shape);
    if (!s.frozen) models::append_backward(list.ops, s.model, s.model.kinds[kind], shape);
    lists.push_back(std::move(list));
  }
  KernelList head{"head", 1, {}};
  models::append_head(head.ops, s.model, s.model.vocab, shape, models::Phase::Forward);
  if (!s.frozen) models::append_head(head.ops, s.model, s.model.vocab, shape, models::Phase::Input);
  lists.push_back(std::move(head));
  return lists;
}

void write_kernel(base::JsonWriter& json, const KernelList& list, const Op& op,
                  const models::KernelModel& model) {
  static constexpr const char* kPhases[] = {"forward", "input gradient", "weight gradient"};
  json.begin_object().field("name", op.name).field("of", std::string_view(list.of));
  json.field("phase", kPhases[static_cast<std::size_t>(op.phase)]);
  json.field("times", list.times);
  json.field("flops", rounded(models::matrix_flops({op})));
  json.field("bytes", rounded(models::kernel_bytes(model, op)));
  json.field("s", rounded(models::kernel_time(model, op).value)).end_object();
}

}  // namespace

void write_roofline(base::JsonWriter& json, const models::Scenario& s, const sim::Prediction& p) {
  if (s.cluster.groups.empty() || s.profiles.empty() || s.model.kinds.empty()) return;
  const sim::CostContext context = sim::cost_context(s, p.plan, 0);
  models::LayerShape shape = models::layer_shape(s);
  shape.packs = context.packs.get();
  shape.experts.nodes = context.experts.ep.domains;
  shape.experts.load = context.expert_load;
  const models::Device& device = s.cluster.groups.front().device;
  json.key("roofline").begin_object().field("device", std::string_view(device.name));
  json.field("precision", models::to_text(s.precision));
  json.field("peak_flops", device.matrix_rate[static_cast<std::size_t>(s.precision)].value);
  json.field("memory_bytes_per_s", device.memory_bandwidth.value);
  json.key("kernels").begin_array();
  for (const KernelList& list : kernel_lists(s, shape)) {
    for (const Op& op : list.ops) {
      if (op.kind != models::OpKind::Collective) write_kernel(json, list, op, context.kernels);
    }
  }
  json.end_array().end_object();
}

}  // namespace paceline::reports
