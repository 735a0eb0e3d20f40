// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/stack.hpp"

#include <array>
#include <limits>

namespace paceline::models {
namespace {

using base::Fields;
using base::Named;

constexpr std::array<Named<NormKernel>, 2> kNorms{
    {{"fused", NormKernel::Fused}, {"eager", NormKernel::Eager}}};
constexpr std::array<Named<Accumulation>, 4> kAccumulations{
    {{"autograd-16", Accumulation::Autograd16},
     {"main-grad-32", Accumulation::MainGrad32},
     {"separate-32", Accumulation::Separate32},
     {"fused-32", Accumulation::Fused32}}};
constexpr std::array<Named<TpOverlap>, 3> kTpOverlaps{
    {{"none", TpOverlap::None}, {"backward", TpOverlap::Backward}, {"bulk", TpOverlap::Bulk}}};
constexpr std::array<Named<DpOverlap>, 3> kDpOverlaps{
    {{"none", DpOverlap::None},
     {"bucketed", DpOverlap::Bucketed},
     {"bucketed-without-pipeline", DpOverlap::BucketedWithoutPipeline}}};
constexpr std::array<Named<Loss>, 3> kLosses{
    {{"vocab-parallel", Loss::VocabParallel}, {"torch", Loss::Torch}, {"fused", Loss::Fused}}};
constexpr std::array<Named<Partition>, 3> kPartitions{
    {{"even", Partition::Even},
     {"balanced", Partition::Balanced},
     {"embedding-and-head", Partition::EmbeddingAndHead}}};

/// Largest number of fitted or chosen numbers a stack may carry (more is curve fitting).
constexpr std::size_t kMaxNumbers = 6;

enum class NumberKind { Plain, Time, Size };
struct NumberField {
  std::string_view name;
  NumberKind kind;
  double low, high;
  void (*set)(Stack&, double);
};

constexpr std::array<NumberField, 17> kNumbers{{
    {"sustained", NumberKind::Plain, 0.05, 1.5, [](Stack& s, double v) { s.sustained = v; }},
    {"elementwise", NumberKind::Plain, 0.1, 10, [](Stack& s, double v) { s.elementwise = v; }},
    {"tp_exposed", NumberKind::Plain, 0, 1, [](Stack& s, double v) { s.tp_exposed = v; }},
    {"tp_factor", NumberKind::Plain, 0.1, 10, [](Stack& s, double v) { s.tp_factor = v; }},
    {"overlap_slowdown", NumberKind::Plain, 1, 10,
     [](Stack& s, double v) { s.overlap_slowdown = v; }},
    {"attention_factor", NumberKind::Plain, 0.05, 2,
     [](Stack& s, double v) { s.attention_factor = v; }},
    {"scale_loss", NumberKind::Plain, 0, 0.1, [](Stack& s, double v) { s.scale_loss = v; }},
    {"step_overhead", NumberKind::Time, 0, 1e4,
     [](Stack& s, double v) { s.step_overhead = base::Seconds(v); }},
    {"host_layer_forward", NumberKind::Time, 0, 10,
     [](Stack& s, double v) { s.host_layer_forward = base::Seconds(v); }},
    {"host_layer_backward", NumberKind::Time, 0, 10,
     [](Stack& s, double v) { s.host_layer_backward = base::Seconds(v); }},
    {"host_moe_layer", NumberKind::Time, 0, 10,
     [](Stack& s, double v) { s.host_moe_layer = base::Seconds(v); }},
    {"host_moe_layer_fp8", NumberKind::Time, 0, 10,
     [](Stack& s, double v) { s.host_moe_layer_fp8 = base::Seconds(v); }},
    {"microbatch_host", NumberKind::Time, 0, 10,
     [](Stack& s, double v) { s.microbatch_host = base::Seconds(v); }},
    {"collective_overhead", NumberKind::Time, 0, 10,
     [](Stack& s, double v) { s.collective_overhead = base::Seconds(v); }},
    {"activation_overhead", NumberKind::Plain, 0.5, 5,
     [](Stack& s, double v) { s.activation_overhead = v; }},
    {"runtime_memory", NumberKind::Size, 0, 1e13,
     [](Stack& s, double v) { s.runtime_memory = base::Bytes(v); }},
    {"logit_bytes", NumberKind::Plain, 0, 64, [](Stack& s, double v) { s.logit_bytes = v; }},
}};

double read_number(Fields& entry, NumberKind kind, double low, double high) {
  double value = 0;
  switch (kind) {
    case NumberKind::Plain:
      return entry.number("value", low, high);
    case NumberKind::Time:
      value = entry.seconds("value").value;
      break;
    case NumberKind::Size:
      value = entry.bytes("value").value;
      break;
  }
  if (value > high) entry.fail("value", "is out of range", "at most " + std::to_string(high));
  return value;
}

void read_numbers(Fields fields, Stack& stack) {
  for (const NumberField& number : kNumbers) {
    if (!fields.has(number.name)) continue;
    Fields entry = fields.map(number.name);
    StackNumber read;
    read.name = number.name;
    read.value = read_number(entry, number.kind, number.low, number.high);
    read.source = entry.text("source");
    entry.done();
    number.set(stack, read.value);
    std::erase_if(stack.numbers, [&](const StackNumber& n) { return n.name == read.name; });
    stack.numbers.push_back(std::move(read));
  }
  if (stack.numbers.size() > kMaxNumbers) {
    fields.fail("", "a stack has at most six numbers",
                "explain the rest by a kernel choice or an overlap switch");
  }
  fields.done();
}

void read_switches(Fields& fields, Stack& stack) {
  stack.nccl = fields.text("nccl", stack.nccl);
  stack.attention = fields.text("attention", stack.attention);
  stack.norm = fields.choice<NormKernel>("norm", kNorms, stack.norm);
  stack.fused_rotary = fields.flag("fused_rotary", stack.fused_rotary);
  stack.dropout = fields.flag("dropout", stack.dropout);
  stack.fused_bias_dropout = fields.flag("fused_bias_dropout", stack.fused_bias_dropout);
  stack.fused_activation = fields.flag("fused_activation", stack.fused_activation);
  stack.measured_kernels = fields.flag("measured_kernels", stack.measured_kernels);
  stack.accumulation =
      fields.choice<Accumulation>("accumulation", kAccumulations, stack.accumulation);
  stack.gradient_reduce =
      fields.choice<Precision>("gradient_reduce", kPrecisions, stack.gradient_reduce);
  stack.sharded_logits = fields.flag("sharded_logits", stack.sharded_logits);
  stack.recompute_stops_early = fields.flag("recompute_stops_early", stack.recompute_stops_early);
  stack.loss = fields.choice<Loss>("loss", kLosses, stack.loss);
  stack.tp_overlap = fields.choice<TpOverlap>("tp_overlap", kTpOverlaps, stack.tp_overlap);
  stack.dp_overlap = fields.choice<DpOverlap>("dp_overlap", kDpOverlaps, stack.dp_overlap);
  stack.zero_all_reduce = fields.flag("zero_all_reduce", stack.zero_all_reduce);
  stack.keeps_stage_outputs = fields.flag("keeps_stage_outputs", stack.keeps_stage_outputs);
  stack.p2p_blocking = fields.flag("p2p_blocking", stack.p2p_blocking);
  stack.p2p_scatter_gather = fields.flag("p2p_scatter_gather", stack.p2p_scatter_gather);
  stack.blocking_launch = fields.flag("blocking_launch", stack.blocking_launch);
  stack.partition = fields.choice<Partition>("partition", kPartitions, stack.partition);
  if (fields.has("numbers")) read_numbers(fields.map("numbers"), stack);
}

}  // namespace

Stack read_stack(const std::string& name, const std::string& where) {
  const base::Document document = base::read_document(spec_path("stack", name, where));
  Fields fields(document, document.root);
  Stack stack;
  stack.name = name;
  stack.source = fields.text("source");
  read_switches(fields, stack);
  fields.done();
  return stack;
}

Stack read_stack(const base::Document& document, const base::Value& value) {
  if (value.kind != base::Value::Kind::Map) {
    const std::string where = document.file + ":" + std::to_string(value.place.line) + ":" +
                              std::to_string(value.place.column) + ": stack";
    if (value.kind != base::Value::Kind::Scalar) {
      throw base::Error(where, "must be a name", "see: paceline list stacks");
    }
    return read_stack(value.text, where);
  }
  Fields fields(document, value, "stack");
  Stack stack = read_stack(fields.text("name"), fields.where("name"));
  read_switches(fields, stack);
  fields.done();
  return stack;
}

}  // namespace paceline::models
