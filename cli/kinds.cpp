// SPDX-License-Identifier: Apache-2.0
#include "cli/kinds.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "kernels/library.hpp"
#include "models/compression/codec.hpp"
#include "models/context/method.hpp"
#include "models/hardware/fabric.hpp"
#include "models/money/provider.hpp"
#include "models/scenario/failures.hpp"
#include "models/scenario/set.hpp"
#include "models/scenario/stack.hpp"
#include "models/scenario/system.hpp"
#include "models/workload/dispatchers/dispatcher.hpp"
#include "models/workload/model.hpp"
#include "reports/schedule_sample.hpp"
#include "sim/convergence/experiment.hpp"
#include "sim/convergence/method.hpp"
#include "sim/jobs/policy.hpp"
#include "sim/schedules/about.hpp"
#include "sim/schedules/schedule.hpp"

namespace paceline::cli {
namespace {

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const sim::Schedule& schedule : sim::schedules()) names.emplace_back(schedule.name);
  return names;
}

/// What the schedule is, in words.
Entry schedule_entry(const std::string& name) {
  const sim::Schedule& schedule = sim::find_schedule(name, "");
  Entry entry{name, std::string(schedule.summary), "", {}};
  entry.text = name + ": " + entry.summary + "\n";
  const auto add = [&](const char* key, std::string_view value, std::string_view source) {
    std::string label = key;
    label.resize(10, ' ');
    entry.text += "  " + label + std::string(value) + "\n";
    entry.facts.push_back({key, std::string(value), std::string(source)});
  };
  const std::string options = models::option_names(*models::schedule_traits(name));
  if (const sim::About* about = sim::about(name)) {
    add("placement", about->placement, about->paper);
    add("order", about->order, about->paper);
    add("bubble", about->bubble, about->paper);
    add("peak", about->peak, about->paper);
    add("options", options.empty() ? "none" : options, "the schedule's code");
    add("paper", about->paper, about->paper);
  } else {
    add("options", options.empty() ? "none" : options, "the schedule's code");
  }
  return entry;
}

/// The shape of pictures; programs are written out for a smaller one.
reports::ScheduleSample picture_sample(const sim::Schedule& schedule) {
  return reports::sample(schedule, reports::accepted_shape(schedule, 4, 8));
}

/// A small Program, and a picture and figures that the engine makes of a larger one.
std::string schedule_more(const std::string& name, bool colour) {
  const sim::Schedule& schedule = sim::find_schedule(name, "");
  const sim::PipelineShape small = reports::accepted_shape(schedule, 2, 4);
  const reports::ScheduleSample sample = picture_sample(schedule);
  return "\nOn " + reports::to_text(small) + " (2F0: forward of stage 2, microbatch 0):\n" +
         sim::to_text(schedule.build(small)) + "\nOn " + reports::to_text(sample.shape) +
         ", F, B and W of a rank taking 1 (m: microbatch, s: stage):\n" +
         reports::gantt_text(sample, colour) + "\n" + reports::figures_text(sample);
}

std::vector<models::Fact> schedule_figures(const std::string& name) {
  std::vector<models::Fact> facts;
  const reports::ScheduleSample sample = picture_sample(sim::find_schedule(name, ""));
  for (const auto& [key, value] : reports::figure_rows(sample))
    facts.push_back({key, value, "reference engine, F, B and W of a rank taking 1"});
  return facts;
}

std::string schedule_svg(const std::string& name) {
  const sim::Schedule& schedule = sim::find_schedule(name, "");
  return reports::schedule_svg(schedule, picture_sample(schedule));
}

Entry model_entry(const std::string& name) {
  const base::Document document = base::parse_yaml("preset: " + name, "preset " + name);
  const models::Model model = models::read_model(base::Fields(document, document.root), ".");
  const auto parameters = static_cast<double>(models::total_parameters(model));
  return {name,
          base::format_count(parameters) + " parameters, " + std::to_string(model.layers.size()) +
              " layers, hidden " + std::to_string(model.hidden) + " (" + model.family + ")",
          models::describe(model),
          {}};
}

template <class Spec>
Entry spec_entry(const Spec& spec) {
  return {spec.name, spec.summary, models::describe(spec), spec.facts};
}

std::string cluster_fabric(const std::string& name, bool /*colour*/) {
  const models::Cluster cluster = models::read_cluster(name);
  const models::Fabric fabric = models::make_fabric(cluster);
  std::string text = "  fabric: " + models::fabric_text(cluster) + ", " +
                     std::to_string(fabric.vertices.size()) + " vertices, " +
                     std::to_string(fabric.wires.size()) + " wires";
  const base::BytesPerSecond half = models::bisection_bandwidth(fabric);
  if (half.value > 0) text += ", bisection " + base::format_rate(half) + " one way";
  const std::string cut = models::unreachable_pair(fabric);
  return text + (cut.empty() ? "" : "\n  " + cut) + "\n";
}

std::string cluster_dot(const std::string& name) {
  return models::to_dot(models::make_fabric(models::read_cluster(name)));
}

Entry stack_entry(const std::string& name) {
  const models::Stack stack = models::read_stack(name, "");
  Entry entry{name, stack.source, "", {}};
  entry.text = name + ": " + stack.source + "\n  attention " + stack.attention + ", NCCL " +
               stack.nccl + "\n";
  for (const models::StackNumber& number : stack.numbers) {
    entry.facts.push_back({number.name, base::shortest(number.value), number.source});
    entry.text +=
        "  " + number.name + " " + base::shortest(number.value) + ": " + number.source + "\n";
  }
  return entry;
}

std::vector<std::string> codec_names() {
  std::vector<std::string> names;
  for (const models::Codec& codec : models::codecs()) names.emplace_back(codec.name);
  return names;
}

std::string kernel_names(const std::vector<models::CodecKernel>& kernels) {
  std::string names;
  for (const models::CodecKernel& kernel : kernels)
    names += (names.empty() ? "" : ", ") + kernel.kernel + " " + kernel.pass;
  return names.empty() ? "none" : names;
}

std::string_view sum_text(models::CodecSum sum) {
  switch (sum) {
    case models::CodecSum::Values:
      return "codes are added by the collective itself";
    case models::CodecSum::Exchanged:
      return "parts are exchanged, added and encoded once more";
    case models::CodecSum::Gathered:
      return "everyone gets everyone's codes";
  }
  return "";
}

/// What the codec makes of a weight gradient of 4096 x 4096 in bf16, with its default settings.
Entry codec_entry(const std::string& name) {
  const models::Codec& codec = models::codec_named(name, "");
  const models::CodecTensor gradient{4096, 4096, 1, 2};
  const models::Encoded encoded = codec.encoded({}, gradient);
  Entry entry{name, std::string(codec.about), "", {}};
  entry.text = name + ": " + entry.summary + "\n";
  const auto add = [&](const char* key, const std::string& value) {
    std::string label = key;
    label.resize(10, ' ');
    entry.text += "  " + label + value + "\n";
    entry.facts.push_back({key, value, "4096 x 4096 in bf16, default settings"});
  };
  std::string keys;
  for (const std::string_view key : codec.keys)
    keys += (keys.empty() ? "" : ", ") + std::string(key);
  add("options", keys.empty() ? "none" : keys);
  add("wire", base::format_bytes(base::Bytes(encoded.wire_bytes)) + " for " +
                  base::format_bytes(base::Bytes(gradient.bytes())) + " (4096 x 4096 in bf16), " +
                  base::shortest(std::round(1000 * gradient.bytes() / encoded.wire_bytes) / 1000) +
                  " times less");
  add("sums", std::string(sum_text(encoded.sum)));
  add("encode", kernel_names(encoded.encode));
  add("decode", kernel_names(encoded.decode));
  if (!encoded.aside.empty()) add("beside", kernel_names(encoded.aside));
  add("state", base::format_bytes(base::Bytes(encoded.state_bytes)));
  return entry;
}

std::vector<std::string> measured_kernels() {
  std::vector<std::string> names;
  for (const kernels::Operation& operation : kernels::operations())
    if (names.empty() || names.back() != operation.kernel) names.emplace_back(operation.kernel);
  return names;
}

/// Where an operation runs, and what is missing for that.
std::string places_of(const kernels::Operation& operation) {
  std::string places;
  const auto add = [&](bool there, const char* place) {
    if (there) places += (places.empty() ? "" : ", ") + std::string(place);
  };
  add(operation.cpu != nullptr, "cpu");
  add(operation.cuda != nullptr, "cuda");
  add(operation.simt != nullptr, "in tests the SIMT shim");
  if (places.empty()) places = "nowhere in this build, which has no CUDA";
  const std::string lacks = kernels::library_lacks(
      operation, {operation.types.front(), operation.bench_shapes().front()});
  return places + (lacks.empty() ? "" : "; not on this machine: " + lacks);
}

/// Passes of a kernel, their types and where they run.
Entry kernel_entry(const std::string& name) {
  Entry entry{name, "", name + "\n", {}};
  for (const kernels::Operation& operation : kernels::operations()) {
    if (operation.kernel != name) continue;
    std::string types;
    for (const kernels::DType type : operation.types)
      types += (types.empty() ? "" : " ") + std::string(kernels::name_of(type));
    const std::string where = places_of(operation);
    entry.summary += (entry.summary.empty() ? "" : ", ") + std::string(operation.pass);
    entry.text += "  " + base::pad_right(operation.pass, 17) + operation.summary + "\n" +
                  std::string(19, ' ') + types + "; " + where + "\n";
    entry.facts.push_back({operation.pass, types + "; " + where, operation.summary});
  }
  return entry;
}

Entry set_entry(const std::string& name) {
  const models::MeasuredSet set = models::read_set(models::set_file(name));
  Entry entry{name, set.title + ", " + std::to_string(set.rows.size()) + " rows", "", {}};
  entry.text = name + ": " + entry.summary + "\n  source: " + set.source + "\n";
  for (const models::SetQuantity& quantity : set.quantities)
    entry.text += "  measured: " + quantity.name + "\n";
  for (const models::Exclusion& exclusion : set.exclusions) {
    entry.text += "  excluded: " + exclusion.rule + ", " + std::to_string(exclusion.rows) +
                  " rows: " + exclusion.why + "\n";
  }
  for (const std::string& note : set.notes) entry.text += "  note: " + note + "\n";
  return entry;
}

/// Read once: every entry needs the whole index.
const std::vector<models::System>& systems() {
  static const std::vector<models::System> all = models::read_systems(models::systems_file());
  return all;
}

std::vector<std::string> system_names() {
  std::vector<std::string> names;
  for (const models::System& system : systems()) names.push_back(system.id);
  return names;
}

Entry system_entry(const std::string& name) {
  const auto found = std::find_if(systems().begin(), systems().end(),
                                  [&](const models::System& s) { return s.id == name; });
  PACELINE_CHECK(found != systems().end());
  const models::System& system = *found;
  Entry entry{name, system.title + (system.missing.empty() ? "" : " (not expressible)"), "", {}};
  entry.text = name + ": " + system.title + "\n  claim: " + system.claim +
               "\n  source: " + system.source + "\n";
  for (const std::string& capability : system.missing)
    entry.text += "  missing: " + capability + "\n";
  for (const models::SystemRun& run : system.runs)
    entry.text += (run.jobs ? "  jobs " : "  scenario ") + run.name + ": systems/" + name + "/" +
                  run.file + (run.changes.empty() ? "" : " with " + run.changes) + "\n";
  for (const models::SystemCheck& check : system.checks)
    entry.text += "  check: " + check.quantity + ", " + check.text + " " +
                  std::string(models::to_text(check.relation)) + " " +
                  base::shortest(check.claimed) + "\n";
  if (!system.why.empty()) entry.text += "  why: " + system.why + "\n";
  return entry;
}

/// Names of a table of the convergence workbench, and the summary of one.
template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(row.name);
  return names;
}
template <class Table>
Entry entry_of(const Table& table, const std::string& name) {
  const std::string summary(base::find(table, name).summary);
  return {name, summary, name + ": " + summary + "\n", {}};
}

constexpr Kind kKinds[] = {
    {"schedules", "schedule", "orders of forward and backward passes on a pipeline",
     &schedule_names, &schedule_entry, &schedule_more, &schedule_figures, nullptr, &schedule_svg,
     true},
    {"models", "model", "presets for `model: {preset: NAME}`",
     [] { return models::spec_names("model"); }, &model_entry},
    {"devices", "device", "accelerators, from their data sheets",
     [] { return models::spec_names("device"); },
     [](const std::string& name) { return spec_entry(models::read_device(name)); }},
    {"links", "link", "links inside nodes and networks between them",
     [] { return models::spec_names("link"); },
     [](const std::string& name) { return spec_entry(models::read_link(name)); }},
    {"clusters", "cluster", "presets for `cluster: {preset: NAME}`",
     [] { return models::spec_names("cluster"); },
     [](const std::string& name) { return spec_entry(models::read_cluster(name)); },
     &cluster_fabric, nullptr, &cluster_dot},
    {"providers", "provider", "what devices, egress and electricity cost, by provider and region",
     [] { return models::spec_names("provider"); },
     [](const std::string& name) { return spec_entry(models::read_provider(name)); }},
    {"stacks", "stack", "training frameworks: their kernels and what they overlap",
     [] { return models::spec_names("stack"); }, &stack_entry},
    {"codecs", "codec", "what makes messages smaller, and what it costs", &codec_names,
     &codec_entry},
    {"dispatchers", "dispatcher", "how tokens reach their experts, `moe: {dispatcher: NAME}`",
     [] { return names_of(models::detail::dispatcher_kinds()); },
     [](const std::string& name) { return entry_of(models::detail::dispatcher_kinds(), name); }},
    {"context-methods", "context method", "how ranks share attention, `parallel: {context: NAME}`",
     [] { return names_of(models::context_methods()); },
     [](const std::string& name) { return entry_of(models::context_methods(), name); }},
    {"recoveries", "recovery", "how a job goes on without nodes, `failures: {recovery: NAME}`",
     [] { return names_of(models::recovery_policies()); },
     [](const std::string& name) { return entry_of(models::recovery_policies(), name); }},
    {"kernels", "kernel", "what `paceline bench` measures and `paceline execute` runs",
     &measured_kernels, &kernel_entry},
    {"sets", "set", "published measurements that `paceline validate` compares with",
     &models::set_names, &set_entry},
    {"systems", "system", "published systems that `paceline validate systems` compares with",
     &system_names, &system_entry},
    {"objectives", "objective", "what `paceline converge` trains",
     [] { return names_of(sim::convergence::objective_kinds()); },
     [](const std::string& name) { return entry_of(sim::convergence::objective_kinds(), name); }},
    {"optimizers", "optimizer", "how weights follow gradients, of `paceline converge`",
     [] { return names_of(sim::convergence::optimizer_kinds()); },
     [](const std::string& name) { return entry_of(sim::convergence::optimizer_kinds(), name); }},
    {"methods", "method", "ways of working together, of `paceline converge`",
     [] { return names_of(sim::convergence::method_kinds()); },
     [](const std::string& name) { return entry_of(sim::convergence::method_kinds(), name); }},
    {"experiments", "experiment", "questions of `paceline converge` that are no training runs",
     [] { return names_of(sim::convergence::experiment_kinds()); },
     [](const std::string& name) { return entry_of(sim::convergence::experiment_kinds(), name); }},
    {"policies", "policy", "who runs next and where, of `paceline jobs`",
     [] { return names_of(sim::jobs::job_policies()); },
     [](const std::string& name) { return entry_of(sim::jobs::job_policies(), name); }},
};

}  // namespace

std::span<const Kind> kinds() { return kKinds; }

}  // namespace paceline::cli
