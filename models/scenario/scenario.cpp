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
constexpr std::array<std::string_view, 3> kOptimizers{"adam", "adamw", "sgd"};

constexpr int kMaxDegree = 1 << 22;
constexpr std::int64_t kMaxBatch = std::int64_t{1} << 40;
constexpr std::int64_t kMaxSequence = std::int64_t{1} << 27;

std::vector<std::string> read_order(Fields& fields) {
  const std::string text = fields.text("order", "tp-cp-ep-dp-pp");
  std::vector<std::string> order;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find('-', begin), text.size());
    order.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::vector<std::string> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != std::vector<std::string>{"cp", "dp", "ep", "pp", "tp"}) {
    fields.fail("order", base::quote(text) + " must name tp, cp, ep, dp and pp once each",
                "for example tp-cp-ep-dp-pp, innermost first");
  }
  return order;
}

int degree(Fields& fields, std::string_view key) {
  return static_cast<int>(fields.integer(key, 1, kMaxDegree, 1));
}

/// Product of degrees, at most kMany: four of them can pass what 64 bits hold.
constexpr std::int64_t kMany = 1'000'000'000'000;
std::int64_t product(std::initializer_list<int> degrees) {
  std::int64_t product = 1;
  for (const int d : degrees) product = std::min(product * d, kMany);
  return product;
}
std::string count_text(std::int64_t count) {
  return count < kMany ? std::to_string(count) : "10^12 or more";
}

Parallel read_parallel(Fields fields, const base::Document& document, int devices) {
  Parallel p;
  p.tp = degree(fields, "tp");
  p.pp = degree(fields, "pp");
  p.cp = degree(fields, "cp");
  p.ep = degree(fields, "ep");
  p.etp = degree(fields, "etp");
  const std::int64_t replica = product({p.tp, p.pp, p.cp});
  if (fields.has("dp")) {
    p.dp = degree(fields, "dp");
    const std::int64_t world = product({p.tp, p.pp, p.cp, p.dp});
    if (world > devices) {
      fields.fail("dp",
                  "tp*pp*cp*dp needs " + count_text(world) + " devices, the cluster has " +
                      std::to_string(devices),
                  "more nodes or smaller degrees");
    }
  } else {
    if (replica > devices || devices % replica != 0) {
      fields.fail("tp",
                  "tp*pp*cp = " + count_text(replica) + " does not divide the " +
                      std::to_string(devices) + " devices of the cluster",
                  "change a degree or the number of nodes, or say dp");
    }
    p.dp = static_cast<int>(devices / replica);
  }
  p.order = read_order(fields);
  p.zero = static_cast<int>(fields.integer("zero", 0, 3, 0));
  p.shard = static_cast<int>(fields.integer("shard", 0, kMaxDegree, 0));
  if (p.shard > 0 && p.dp % p.shard != 0) {
    fields.fail("shard", std::to_string(p.shard) + " does not divide dp = " + std::to_string(p.dp));
  }
  if (p.shard > 0 && p.zero == 0) {
    fields.fail("shard", "means nothing without sharding",
                "set zero to 1, 2 or 3, or leave it out");
  }
  p.sequence_parallel = fields.flag("sequence_parallel", false);
  p.context = read_context(fields, document, p.cp);
  if (fields.has("stage_layers")) {
    for (const base::Value& item : fields.list("stage_layers")) {
      p.stage_layers.push_back(static_cast<int>(
          base::parse_integer(item.text, fields.where(item, "stage_layers"), 0, 1'000'000)));
    }
  }
  fields.done();
  return p;
}

Batch read_batch(Fields fields, const std::string& folder) {
  Batch batch;
  batch.global = fields.integer("global", 1, kMaxBatch);
  batch.micro = fields.integer("micro", 1, kMaxBatch, 1);
  batch.sequence = fields.integer("sequence", 1, kMaxSequence);
  if (fields.has("documents"))
    batch.documents = read_documents(fields.map("documents"), folder, batch.sequence);
  fields.done();
  return batch;
}

constexpr std::array<base::Named<OptimizerKernel>, 3> kOptimizerKernels{
    {{"framework", OptimizerKernel::Framework},
     {"fused", OptimizerKernel::Fused},
     {"epilogue", OptimizerKernel::Epilogue}}};
constexpr std::array<base::Named<bool>, 2> kTableOptimizers{{{"same", false}, {"ember", true}}};

OptimizerChoice read_optimizer(Fields& scenario, const base::Document& document) {
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
    fields.done();
  }
  if (std::find(kOptimizers.begin(), kOptimizers.end(), choice.name) == kOptimizers.end()) {
    scenario.fail("optimizer", "unknown optimizer " + base::quote(choice.name),
                  "one of adam, adamw, sgd");
  }
  return choice;
}

GivenCosts read_costs(Fields fields) {
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

ForeignWork read_foreign(Fields fields) {
  ForeignWork work;
  work.pieces = static_cast<int>(fields.integer("pieces", 1, 1'000'000));
  work.seconds = fields.seconds("seconds");
  if (work.seconds.value <= 0) fields.fail("seconds", "is not above 0", "for example 10 ms");
  fields.done();
  return work;
}

void read_recompute(Fields& fields, Scenario& scenario) {
  scenario.recompute = fields.choice<Recompute>("recompute", kRecomputes, Recompute::None);
  if (scenario.recompute == Recompute::Blockwise) {
    scenario.recompute_layers = static_cast<int>(fields.integer("recompute_layers", 1, 1'000'000));
  } else if (fields.has("recompute_layers")) {
    fields.fail("recompute_layers", "only means something with recompute: blockwise");
  }
}

/// A rule for a group of one rank would say nothing, one for a phase nothing without an end.
void check_compression(Fields& fields, const Scenario& s) {
  const Parallel& p = s.parallel;
  const std::array<std::pair<std::string_view, int>, 5> ranks{
      {{"dp", p.dp * p.cp}, {"pp", p.pp}, {"tp", p.tp}, {"cp", p.cp}, {"ep", p.ep}}};
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

/// A kernel the user names is taken exactly. The stack's own choice gives way, with a note, where
/// the device has no measurement of it.
void read_attention(Fields& fields, Scenario& s) {
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

std::string folder_of(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// `profile: mine.json` stands for the profile of the devices it was measured on.
void read_own_profile(Fields& fields, Scenario& s) {
  if (!fields.has("profile")) return;
  const std::string name = fields.text("profile");
  const Profile own = read_profile(names_file(name) ? path_beside(fields.file(), name) : name);
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
  s.parallel = read_parallel(
      fields.has("parallel") ? fields.map("parallel") : fields.view(empty_map, "parallel"),
      document, s.cluster.devices());
  place_context(s);
  s.schedule = read_schedule(document, fields.find("schedule"), folder_of(document.file));
  s.batch = read_batch(fields.map("batch"), folder_of(document.file));
}

/// Keys that later steps complain about.
constexpr std::string_view kPlacedKeys[] = {"cluster",
                                            "model",
                                            "parallel.tp",
                                            "parallel.pp",
                                            "parallel.cp",
                                            "parallel.dp",
                                            "parallel.context",
                                            "parallel.ep",
                                            "parallel.etp",
                                            "parallel.stage_layers",
                                            "batch.global",
                                            "batch.micro",
                                            "batch.sequence",
                                            "batch.documents",
                                            "schedule.name",
                                            "schedule.chunks",
                                            "schedule.update_every",
                                            "schedule.slices",
                                            "schedule.group",
                                            "schedule.directions",
                                            "schedule.skip",
                                            "schedule.pools",
                                            "schedule.memory_limit",
                                            "schedule.file",
                                            "attention",
                                            "precision",
                                            "schedule.dispatch",
                                            "recompute",
                                            "jitter",
                                            "foreign",
                                            "offload",
                                            "optimizer",
                                            "parallel.order",
                                            "parallel.shard",
                                            "parallel.sequence_parallel",
                                            "moe.dispatcher",
                                            "moe.node_limit",
                                            "moe.overlap",
                                            "moe.capacity"};

void remember_places(const base::Document& document, Scenario& s) {
  for (const std::string_view key : kPlacedKeys) {
    std::string_view path = key;
    const base::Value* value = base::find_path(document.root, path);
    while (value == nullptr && path.find('.') != std::string_view::npos) {
      path = path.substr(0, path.rfind('.'));
      value = base::find_path(document.root, path);
    }
    const std::string place =
        value == nullptr ? document.file : base::place_text(document, value->place);
    s.places.emplace_back(key, place + ": " + std::string(key));
  }
}

void add_assumptions(Scenario& s) {
  for (const std::string& note : s.model.notes) s.assumptions.push_back(note);
  const int devices = s.cluster.devices();
  if (s.parallel.world_size() < devices) {
    s.assumptions.push_back("uses " + std::to_string(s.parallel.world_size()) + " of the " +
                            std::to_string(devices) + " devices of the cluster");
  }
}

}  // namespace

std::string where(const Scenario& scenario, const std::string& key) {
  for (const auto& [name, place] : scenario.places) {
    if (name == key) return place;
  }
  return scenario.file + ": " + key;
}

Scenario read_scenario(const base::Document& document) {
  Fields fields(document, document.root);
  Scenario s;
  s.file = document.file;
  s.name = fields.text("name", std::filesystem::path(document.file).stem().string());
  s.assumptions = fields.text_list("assumptions");
  s.model = read_model(fields.map("model"), folder_of(document.file));
  read_layout(fields, document, s);
  std::optional<Fields> collectives;
  if (fields.has("collectives")) collectives.emplace(fields.map("collectives"));
  read_collectives(collectives ? &*collectives : nullptr, folder_of(document.file), s);
  s.precision = fields.choice<Precision>("precision", kPrecisions, Precision::Bf16);
  read_recompute(fields, s);
  read_attention(fields, s);
  s.optimizer = read_optimizer(fields, document);
  if (fields.has("costs")) s.costs = read_costs(fields.map("costs"));
  if (fields.has("foreign")) s.foreign = read_foreign(fields.map("foreign"));
  if (fields.has("offload")) s.offload = read_offload(fields.map("offload"));
  if (fields.has("moe")) {
    if (!has_experts(s.model))
      fields.fail("moe", "needs a mixture-of-experts model", "leave it out");
    s.moe = read_moe(fields.map("moe"));
  }
  s.compression = read_compression(fields, static_cast<std::int64_t>(s.model.layers.size()));
  if (std::any_of(s.compression.begin(), s.compression.end(),
                  [](const CompressionRule& rule) { return rule.layers.has_value(); }))
    split_kinds(s.compression, s.model);
  if (fields.has("jitter")) {
    s.jitter = read_jitter(fields.map("jitter"), folder_of(document.file), s.parallel.world_size());
  }
  if (fields.has("outer"))
    s.outer = read_outer(fields.map("outer"), s.cluster, s.parallel.world_size());
  read_run(fields, s);
  check_compression(fields, s);
  check_precision(fields, s);
  fields.done();
  remember_places(document, s);
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
  base::Document document = base::read_document(path);
  set_values(document, set);
  return read_scenario(document);
}

}  // namespace paceline::models
