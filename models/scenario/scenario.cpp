// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/scenario.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "base/message.hpp"
#include "models/scenario/collectives.hpp"
#include "models/scenario/context.hpp"
#include "models/scenario/documents.hpp"
#include "models/scenario/failure_trace.hpp"
#include "models/scenario/read_parts.hpp"
#include "models/scenario/resolved.hpp"
#include "models/scenario/set_values.hpp"
#include "models/workload/layer_ops.hpp"

namespace paceline::models {
namespace {

using base::Fields;
using base::Named;

constexpr std::array<Named<Recompute>, 4> kRecomputes{{{"none", Recompute::None},
                                                       {"selective", Recompute::Selective},
                                                       {"full", Recompute::Full},
                                                       {"blockwise", Recompute::Blockwise}}};

constexpr std::int64_t kMaxBatch = std::int64_t{1} << 40;
constexpr std::int64_t kMaxSequence = std::int64_t{1} << 27;
constexpr int kMaxLossChunks = 1024;

Batch read_batch(Fields fields, const std::string& folder) {
  Batch batch;
  batch.global = fields.integer("global", 1, kMaxBatch);
  batch.micro = fields.integer("micro", 1, kMaxBatch, 1);
  batch.sequence = fields.integer("sequence", 1, kMaxSequence);
  if (fields.has("documents"))
    batch.documents = read_documents(fields.map("documents"), folder, batch.sequence);
  if (fields.has("samples")) {
    if (fields.has("documents"))
      fields.fail("samples", "stands beside documents", "one of the two");
    batch.samples = read_samples(fields.map("samples"), folder, batch.sequence);
  }
  fields.done();
  return batch;
}

}  // namespace

GivenCosts detail::read_costs(Fields fields) {
  GivenCosts costs;
  costs.forward = fields.seconds("forward");
  costs.input_gradient = fields.seconds("input_gradient");
  costs.weight_gradient = fields.seconds("weight_gradient", base::Seconds(0));
  costs.hop = fields.seconds("hop", base::Seconds(0));
  costs.activation = fields.bytes("activation", base::Bytes(0));
  costs.layers = static_cast<int>(fields.integer("layers", 0, 1'000'000, 0));
  fields.done();
  return costs;
}

namespace {

ForeignWork read_foreign(Fields fields) {
  ForeignWork work;
  work.pieces = static_cast<int>(fields.integer("pieces", 1, 1'000'000));
  work.seconds = fields.seconds("seconds");
  if (work.seconds.value <= 0) fields.fail("seconds", "is not above 0", "for example 10 ms");
  fields.done();
  return work;
}

/// `recompute: [core, norms, activation]`: parts of every layer.
void read_recompute_parts(Fields& fields, Scenario& scenario) {
  for (const std::string& part : fields.text_list("recompute")) {
    if (part == "core") {
      scenario.recompute = Recompute::Selective;
    } else if (part == "norms") {
      scenario.recompute_parts.norms = true;
    } else if (part == "activation") {
      scenario.recompute_parts.activation = true;
    } else {
      fields.fail("recompute", "unknown part " + base::quote(part),
                  "core, norms, activation, in any number");
    }
  }
}

}  // namespace

void detail::read_recompute(Fields& fields, Scenario& scenario) {
  const base::Value* value = fields.find("recompute");
  scenario.recompute_parts = {};
  if (value != nullptr && value->kind == base::Value::Kind::List) {
    scenario.choose_recompute = false;
    scenario.recompute = Recompute::None;
    read_recompute_parts(fields, scenario);
    if (fields.has("recompute_layers"))
      fields.fail("recompute_layers", "only means something with recompute: blockwise");
    return;
  }
  scenario.choose_recompute = value != nullptr && value->text == "auto";
  scenario.recompute = scenario.choose_recompute
                           ? Recompute::None
                           : fields.choice<Recompute>("recompute", kRecomputes, Recompute::None);
  scenario.recompute_layers = 0;
  if (scenario.recompute == Recompute::Blockwise) {
    scenario.recompute_layers = static_cast<int>(fields.integer("recompute_layers", 1, 1'000'000));
  } else if (fields.has("recompute_layers")) {
    fields.fail("recompute_layers", "only means something with recompute: blockwise");
  }
}

namespace {

/// Of the scenario, or of each of its modules.
template <class F>
bool any_part(const Scenario& s, const F& holds) {
  if (s.modules.empty()) return holds(s);
  return std::any_of(s.modules.begin(), s.modules.end(),
                     [&](const Module& module) { return holds(*module.view); });
}

/// Ranks of the largest group of each kind that rules may name.
std::array<std::pair<std::string_view, int>, 5> group_sizes(const Scenario& s) {
  std::array<std::pair<std::string_view, int>, 5> sizes{
      {{"dp", 1}, {"pp", 1}, {"tp", 1}, {"cp", 1}, {"ep", 1}}};
  any_part(s, [&](const Scenario& part) {
    const Parallel& p = part.parallel;
    const int ranks[] = {p.dp * p.cp, p.pp, p.tp, p.cp, p.ep};
    for (std::size_t i = 0; i < sizes.size(); ++i)
      sizes[i].second = std::max(sizes[i].second, ranks[i]);
    return false;
  });
  return sizes;
}

/// A rule for a group of one rank would say nothing, one for a phase nothing without an end.
void check_compression(Fields& fields, const Scenario& s) {
  const auto ranks = group_sizes(s);
  for (const CompressionRule& rule : s.compression) {
    std::string there;
    int size = 1;
    for (const auto& [name, count] : ranks) {
      if (name == rule.group) size = count;
      if (count > 1) there += (there.empty() ? "" : ", ") + std::string(name);
    }
    if (size <= 1)
      fields.fail("compression",
                  "a rule for " + rule.group + ", but there is no such group: " +
                      (rule.group == "dp" ? "dp and cp are 1" : rule.group + " is 1"),
                  there.empty() ? "leave it out, or more ranks" : "groups here: " + there);
    if (rule.steps && s.run_tokens <= 0)
      fields.fail("compression", "steps of a run without an end", "give run.tokens too");
  }
}

/// Where rules tell layers apart, so do kinds.
void split_kinds(const std::vector<CompressionRule>& rules, Model& model) {
  std::map<std::vector<int>, int> known;
  std::vector<Layer> kinds;
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    std::vector<int> key{model.layers[l]};
    for (const CompressionRule& rule : rules)
      if (rule.layers) key.push_back(rule.layers->holds(static_cast<std::int64_t>(l)) ? 1 : 0);
    const auto [place, fresh] = known.emplace(key, static_cast<int>(kinds.size()));
    if (fresh) {
      kinds.push_back(model.kinds[static_cast<std::size_t>(model.layers[l])]);
      kinds.back().number = static_cast<int>(l);
    }
    model.layers[l] = place->second;
  }
  model.kinds = std::move(kinds);
}

/// `offload`, `auto` or what is to be offloaded, and the limit of what is chosen.
void read_memory_choice(Fields& fields, Scenario& s) {
  const base::Value* offload = fields.find("offload");
  s.choose_offload = offload != nullptr && offload->text == "auto";
  if (offload != nullptr && !s.choose_offload) s.offload = read_offload(fields.map("offload"));
  if (!fields.has("memory_limit")) return;
  s.memory_limit = fields.bytes("memory_limit");
  if (s.memory_limit.value <= 0)
    fields.fail("memory_limit", "is not above 0", "for example 70 GiB");
  if (!s.choose_recompute && !s.choose_offload)
    fields.fail("memory_limit", "limits nothing", "recompute: auto or offload: auto");
}

void read_run(Fields& fields, Scenario& s) {
  std::optional<Fields> run, prices;
  if (fields.has("run")) run.emplace(fields.map("run"));
  if (fields.has("prices")) prices.emplace(fields.map("prices"));
  if (run && run->has("tokens")) s.run_tokens = run->number("tokens", 1, 1e18);
  s.prices =
      read_prices(run ? &*run : nullptr, prices ? &*prices : nullptr, s.cluster, s.assumptions);
  if (run) run->done();
}

void check_precision(Fields& fields, const Scenario& scenario) {
  for (const NodeGroup& group : scenario.cluster.groups) {
    const auto index = static_cast<std::size_t>(scenario.precision);
    if (group.device.matrix_rate[index].value > 0) continue;
    std::string valid;
    for (const auto& [name, precision] : kPrecisions) {
      if (group.device.matrix_rate[static_cast<std::size_t>(precision)].value > 0) {
        valid += (valid.empty() ? "" : ", ") + std::string(name);
      }
    }
    fields.fail(
        "precision",
        group.device.name + " has no " + std::string(to_text(scenario.precision)) + " units",
        "one of " + valid);
  }
}

}  // namespace

/// A kernel the user names is taken exactly. The stack's own choice gives way, with a note, where
/// the device has no measurement of it.
void detail::read_attention(Fields& fields, Scenario& s) {
  s.attention = fields.text("attention", s.stack.attention);
  if (stores_scores(s.attention)) return;
  const Precision precision = s.precision == Precision::Fp8 ? Precision::Bf16 : s.precision;
  const auto missing = std::find_if_not(
      s.profiles.begin(), s.profiles.end(),
      [&](const Profile& profile) { return has_attention(profile, s.attention, precision); });
  if (missing == s.profiles.end()) return;
  const Profile& profile = *missing;
  if (precision == Precision::Fp32) {
    if (fields.has("attention")) {
      fields.fail("attention", s.attention + " has no fp32 form", "eager or megatron-fused");
    }
    s.assumptions.push_back("attention kernel not named: eager, flash kernels have no fp32 form");
    s.attention = "eager";
    return;
  }
  const auto other =
      std::find_if(profile.attention.begin(), profile.attention.end(),
                   [&](const AttentionCurve& c) { return c.causal && c.speaks_for(precision); });
  if (fields.has("attention") || other == profile.attention.end()) {
    fields.fail("attention",
                "profile " + profile.name + " has no kernel " + base::quote(s.attention),
                "one of " + attention_kernels(profile));
  }
  s.assumptions.push_back("attention kernel not named: " + other->kernel + ", as profile " +
                          profile.name + " has no measurement of the stack's " + s.attention);
  s.attention = other->kernel;
}

namespace {

std::string folder_of(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// `profile: mine.json` stands for the profile of the devices it was measured on.
void read_own_profile(Fields& fields, Scenario& s) {
  if (!fields.has("profile")) return;
  const std::string name = fields.text("profile");
  const bool is_file = names_file(name);
  const std::string path = is_file ? path_beside(fields.file(), name) : name;
  std::error_code ignored;
  if (is_file && !std::filesystem::is_regular_file(path, ignored))
    fields.fail("profile", "no file " + base::quote(path),
                "a path from the folder of the scenario, or a whole path");
  const Profile own = read_profile(path);
  bool any = false;
  for (std::size_t i = 0; i < s.cluster.groups.size(); ++i) {
    if (s.cluster.groups[i].device.name != own.device) continue;
    s.profiles[i] = own;
    any = true;
  }
  if (!any)
    fields.fail("profile", "was measured on " + own.device + ", which the cluster does not have",
                "its device is " + s.cluster.groups.front().device.name);
}

void read_layout(Fields& fields, const base::Document& document, Scenario& s) {
  s.cluster = read_cluster(fields.map("cluster"));
  if (const base::Value* stack = fields.find("stack")) {
    s.stack = read_stack(document, *stack);
  } else {
    s.stack = read_stack("generic", "");
    s.assumptions.push_back("no stack named: the generic one (fused kernels, no tuned overlap)");
  }
  for (const NodeGroup& group : s.cluster.groups) {
    s.profiles.push_back(read_profile(group.device.profile));
    s.tables.push_back(group.levels.empty() ? CollectiveTable{}
                                            : read_collective_table(group.levels.back().link,
                                                                    group.device.generation));
  }
  read_own_profile(fields, s);
  const base::Value empty_map{base::Value::Kind::Map, {}, {}, false, {}, {}};
  s.parallel = detail::read_parallel(
      fields.has("parallel") ? fields.map("parallel") : fields.view(empty_map, "parallel"),
      s.cluster.devices());
  place_context(s);
  s.schedule = read_schedule(document, fields.find("schedule"), folder_of(document.file));
  s.batch = read_batch(fields.map("batch"), folder_of(document.file));
}

void add_assumptions(Scenario& s) {
  if (s.modules.size() <= 1)  // of several, each has said its own
    for (const std::string& note : s.model.notes) s.assumptions.push_back(note);
  const int devices = s.cluster.devices();
  if (s.optimizer.offload.host() && s.optimizer.offload.cpu_rate == kCpuAdamRate)
    s.assumptions.push_back(
        "optimizer.cpu_rate not stated: 3.9e9 parameters/s a node, CPU-Adam on a DGX-2 (arXiv "
        "2101.06840, table 4)");
  const bool side_by_side = s.outer && s.outer->bandwidth.value <= 0;
  const int used = used_devices(s) * (side_by_side ? s.outer->workers : 1);
  if (used < devices) {
    s.assumptions.push_back((s.outer && !side_by_side ? "a worker uses " : "uses ") +
                            std::to_string(used) + " of the " + std::to_string(devices) +
                            " devices of the cluster");
  }
  detail::note_idle_rules(s);
}

}  // namespace

int used_devices(const Scenario& scenario) {
  if (scenario.modules.empty()) return scenario.parallel.world_size();
  std::vector<std::pair<int, int>> taken;
  for (const Module& m : scenario.modules) {
    const Parallel& p = m.view->parallel;
    taken.emplace_back(p.first_rank, p.first_rank + p.world_size());
  }
  std::sort(taken.begin(), taken.end());
  int used = 0, end = 0;
  for (const auto& [first, last] : taken) {
    used += std::max(0, last - std::max(first, end));
    end = std::max(end, last);
  }
  return used;
}

int used_nodes(const Scenario& s) {
  int left = used_devices(s), nodes = 0;
  for (const NodeGroup& group : s.cluster.groups) {
    if (left <= 0) break;
    const int devices = std::min(left, group.devices());
    nodes += (devices + group.devices_per_node - 1) / group.devices_per_node;
    left -= devices;
  }
  return nodes;
}

Scenario read_scenario(const base::Document& document) {
  Fields fields(document, document.root);
  Scenario s;
  s.file = document.file;
  s.name = fields.text("name", std::filesystem::path(document.file).stem().string());
  s.assumptions = fields.text_list("assumptions");
  std::optional<Fields> modules;
  if (const base::Value& model = fields.at("model"); base::find_path(model, "modules") != nullptr) {
    modules.emplace(fields.map("model"));
    if (fields.has("parallel"))
      fields.fail("parallel", "stands beside modules", "every module has a parallel of its own");
  } else {
    s.model = read_model(fields.map("model"), folder_of(document.file));
  }
  read_layout(fields, document, s);
  std::optional<Fields> collectives;
  if (fields.has("collectives")) collectives.emplace(fields.map("collectives"));
  read_collectives(collectives ? &*collectives : nullptr, folder_of(document.file), s);
  s.precision = fields.choice<Precision>("precision", kPrecisions, Precision::Bf16);
  detail::read_recompute(fields, s);
  detail::read_attention(fields, s);
  s.optimizer = detail::read_optimizer(fields, document);
  if (fields.has("costs")) s.costs = detail::read_costs(fields.map("costs"));
  if (fields.has("foreign")) s.foreign = read_foreign(fields.map("foreign"));
  if (fields.has("moe")) s.moe = read_moe(fields.map("moe"));
  s.loss_chunks = static_cast<int>(fields.integer("loss_chunks", 1, kMaxLossChunks, 1));
  read_memory_choice(fields, s);
  s.compression = read_compression(fields, static_cast<std::int64_t>(s.model.layers.size()));
  const bool by_layer =
      std::any_of(s.compression.begin(), s.compression.end(),
                  [](const CompressionRule& rule) { return rule.layers.has_value(); });
  if (by_layer && modules)
    fields.fail("compression", "rules by layers do not go with modules", "leave out layers");
  if (by_layer) split_kinds(s.compression, s.model);
  if (fields.has("jitter")) {
    s.jitter = read_jitter(fields.map("jitter"), folder_of(document.file), s.parallel.world_size());
  }
  if (fields.has("outer"))
    s.outer = read_outer(fields.map("outer"), s.cluster, s.parallel.world_size());
  read_run(fields, s);
  if (fields.has("failures")) {
    const std::string_view not_whole = modules             ? "modules"
                                       : s.batch.documents ? "batch.documents"
                                       : s.batch.samples   ? "batch.samples"
                                                           : "";
    s.failures = read_failures(fields.map("failures"),
                               {s.cluster, s.parallel, folder_of(document.file), not_whole});
    if (s.run_tokens <= 0)
      fields.fail("failures", "of a run without an end", "give run.tokens too");
    if (fields.has("outer"))
      fields.fail("failures", "do not go with outer", "its outages say when workers are away");
  }
  if (fields.has("power")) {
    s.power = read_power(fields.map("power"), s.cluster);
    for (NodeGroup& group : s.cluster.groups) group.device.clock = s.power->clock;
  }
  check_precision(fields, s);
  detail::remember_places(document, "", "", s);
  if (modules) detail::read_modules(*modules, document, folder_of(document.file), s);
  if (s.failures) check_memory_copies(s);
  if (fields.has("moe") &&
      !any_part(s, [](const Scenario& part) { return has_experts(part.model); }))
    fields.fail("moe", "needs a mixture-of-experts model", "leave it out");
  check_compression(fields, s);
  fields.done();
  add_assumptions(s);
  s.resolved = resolved_text(document, s);
  s.hash = scenario_hash(s);
  return s;
}

void set_values(base::Document& document, const std::vector<std::string>& set) {
  for (const std::string& assignment : set) {
    const std::size_t equals = assignment.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw base::Error("--set " + assignment, "is no path=value", "for example parallel.tp=4");
    }
    base::set_path(document, assignment.substr(0, equals), assignment.substr(equals + 1));
  }
}

Scenario read_scenario_file(const std::string& path, const std::vector<std::string>& set) {
  base::Document document = base::read_document(path, scenario_limits());
  set_values(document, set);
  return read_scenario(document);
}

}  // namespace paceline::models
