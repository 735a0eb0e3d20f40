// SPDX-License-Identifier: Apache-2.0
#include "models/scenario/system.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/message.hpp"
#include "models/scenario/scenario_folders.hpp"

namespace paceline::models {
namespace {

namespace fs = std::filesystem;
using base::Document;
using base::Fields;
using base::Value;

constexpr double kLargestFigure = 1e30;
constexpr double kSmallestFigure = 1e-30;
constexpr std::size_t kHeadlineLength = 60;
constexpr int kMaxRuns = 32;

constexpr std::array<base::Named<Relation>, 6> kRelations{{{"value", Relation::Value},
                                                           {"gain", Relation::Gain},
                                                           {"saving", Relation::Saving},
                                                           {"at_least", Relation::AtLeast},
                                                           {"at_most", Relation::AtMost},
                                                           {"show", Relation::Shown}}};
constexpr std::array<base::Named<bool>, 2> kSharing{{{"reference", false}, {"simgrid", true}}};
constexpr std::array<std::string_view, 3> kSparseQuantities{
    "sparse_all_gather", "sparse_reduce_scatter", "sparse_all_reduce"};

constexpr std::array<std::string_view, 46> kQuantities{"outer_utilisation",
                                                       "outer_tokens_per_s",
                                                       "outer_data_parallel_tokens_per_s",
                                                       "outer_sent_bytes",
                                                       "step_time_s",
                                                       "tokens_per_s",
                                                       "samples_per_s",
                                                       "mfu",
                                                       "hfu",
                                                       "model_flops",
                                                       "hardware_flops",
                                                       "bubble_makespan",
                                                       "bubble_stage",
                                                       "compute_s",
                                                       "bubble_s",
                                                       "exposed_s",
                                                       "foreign_s",
                                                       "fits",
                                                       "peak_bytes",
                                                       "reserved_bytes",
                                                       "capacity_bytes",
                                                       "state_bytes",
                                                       "table_state_bytes",
                                                       "activation_bytes",
                                                       "traffic_tp_bytes",
                                                       "traffic_cp_bytes",
                                                       "traffic_pp_bytes",
                                                       "traffic_dp_bytes",
                                                       "devices",
                                                       "parameters",
                                                       "step_tokens",
                                                       "step_samples",
                                                       "traffic_bytes",
                                                       "peak_flops_per_s",
                                                       "jittered_step_time_s",
                                                       "staleness_max",
                                                       "staleness_mean",
                                                       "goodput",
                                                       "run_s",
                                                       "run_usd",
                                                       "checkpoint_bytes",
                                                       "checkpoint_blocking_s",
                                                       "one_lost_pace",
                                                       "one_lost_regroup_s",
                                                       "billion_tokens_usd",
                                                       "step_j"};

constexpr std::array<std::string_view, 29> kCapabilities{"2-D and 3-D tensor parallelism",
                                                         "activation codecs",
                                                         "asynchronous pipeline schedules",
                                                         "convolutional networks",
                                                         "diffusion models",
                                                         "energy",
                                                         "gradient codecs",
                                                         "graph networks",
                                                         "host offload",
                                                         "inference",
                                                         "job queues",
                                                         "local SGD",
                                                         "mixture of experts",
                                                         "modules with layouts of their own",
                                                         "network verification",
                                                         "operator-level placement",
                                                         "optimizer variants",
                                                         "ready dispatch and jitter",
                                                         "reinforcement learning",
                                                         "shifted windows",
                                                         "sharding by component",
                                                         "sparse collectives",
                                                         "split-backward schedules",
                                                         "token-sliced pipelines",
                                                         "Ulysses attention",
                                                         "variable-length batches",
                                                         "vocabulary passes",
                                                         "wave and bidirectional schedules",
                                                         "wide-area sites"};

/// Text that must say something, on one line.
std::string sentence(Fields& fields, std::string_view key) {
  std::string text = fields.text(key);
  if (text.empty()) fields.fail(key, "is empty");
  const auto control = [](char c) { return std::iscntrl(static_cast<unsigned char>(c)) != 0; };
  if (std::any_of(text.begin(), text.end(), control)) fields.fail(key, "holds a line break or tab");
  return text;
}

/// A word that can stand in a path or an expression: lower-case letters, digits and `joint`.
std::string plain_name(const Fields& fields, std::string_view key, std::string name, char joint) {
  const auto fits = [&](char c) {
    const auto u = static_cast<unsigned char>(c);
    return std::islower(u) != 0 || std::isdigit(u) != 0 || c == joint;
  };
  if (name.empty() || name.front() == joint || !std::all_of(name.begin(), name.end(), fits))
    fields.fail(key, base::quote(name) + " is no name",
                std::string("write lower-case letters, digits and ") + joint);
  return name;
}

SparseArray read_sparse(Fields fields) {
  constexpr double kLargest = 1e15;
  SparseArray array;
  array.size = fields.bytes("size");
  if (!(array.size.value >= 1 && array.size.value <= kLargest))
    fields.fail("size", "is no array", "1 B to 1 PB");
  array.sparsity = fields.number("sparsity", 0, 1);
  array.value_bytes = static_cast<int>(fields.integer("value_bytes", 1, 8));
  fields.done();
  return array;
}

/// The path of a file beside the document.
std::string path_of(const Document& document, const Fields& predict, const std::string& key,
                    const std::string& file) {
  if (file.find('/') != std::string::npos || fs::path(file).extension() != ".yaml")
    predict.fail(key, base::quote(file) + " is no file beside this one", "write NAME.yaml");
  const std::string path = (fs::path(document.file).parent_path() / file).string();
  if (!fs::exists(path)) predict.fail(key, "there is no file " + path);
  return path;
}

/// A jobs file beside the document, as it stands.
std::shared_ptr<const JobsStudy> read_jobs_beside(const std::string& path) {
  return std::make_shared<JobsStudy>(without_variants(read_jobs(path)));
}

/// A scenario file, and what is changed in it; or a jobs file.
SystemRun read_run(const Document& document, Fields& predict, const base::Field& field) {
  SystemRun run;
  run.name = plain_name(predict, field.key, field.key, '_');
  if (std::islower(static_cast<unsigned char>(run.name.front())) == 0)
    predict.fail(field.key, "begins with a digit", "expressions would read a number");
  const Value* changes = nullptr;
  if (field.value.kind == Value::Kind::Map) {
    Fields fields = predict.map(field.key);
    const bool jobs = fields.has("jobs");
    run.file = fields.text(jobs ? "jobs" : "scenario");
    if (jobs) {
      fields.done();
      run.jobs = read_jobs_beside(path_of(document, predict, field.key, run.file));
      return run;
    }
    if (fields.has("with")) changes = &fields.at("with");
    if (changes != nullptr && changes->kind != Value::Kind::Map) fields.fail("with", "is no map");
    run.shared_links = fields.choice<bool>("engine", kSharing, false);
    if (fields.has("sparse")) run.sparse = read_sparse(fields.map("sparse"));
    fields.done();
  } else {
    run.file = predict.text(field.key);
  }
  run.scenario = base::read_document(path_of(document, predict, field.key, run.file));
  if (changes != nullptr) {
    run.changes = base::canonical_text(*changes);
    base::merge(run.scenario, Document{document.file, *changes});
  }
  return run;
}

SystemCheck read_check(Fields fields, const Value& value, const Table& columns) {
  SystemCheck check;
  check.quantity = sentence(fields, "quantity");
  check.text = fields.text("expression");
  check.expression = parse_expression(check.text, columns, fields.where("expression"));
  const auto names_run = [](const Factor& factor) { return factor.column >= 0; };
  if (std::none_of(check.expression.begin(), check.expression.end(), names_run))
    fields.fail("expression", "names no quantity of a prediction",
                "for example baseline.step_time_s");
  check.place = {"", value.place.line, value.place.column};
  int figures = 0;
  for (const auto& [key, relation] : kRelations) {
    if (!fields.has(key)) continue;
    ++figures;
    check.relation = relation;
    if (relation == Relation::Shown) {
      if (!fields.flag(key)) fields.fail(key, "is false", "leave it out");
      continue;
    }
    check.claimed = fields.number(key, kSmallestFigure, kLargestFigure);
  }
  if (figures != 1)
    throw base::Error(fields.where(value, "checks"),
                      "has " + std::to_string(figures) + " published figures",
                      "write one of value, gain, saving, at_least, at_most, or show: true");
  check.tolerance = fields.number("tolerance", 0, check.tolerance, check.tolerance);
  check.band = fields.number("band", check.tolerance, 0.5, check.band);
  fields.done();
  return check;
}

void read_system(System& system) {
  const Document document = base::read_document(system.file);
  Fields fields(document, document.root);
  if (fields.text("system") != system.id)
    fields.fail("system", "is no name of the folder", "write " + system.id);
  fields.map("predict");
  const Value& predict = fields.at("predict");
  Fields runs = fields.view(predict, "predict");
  if (predict.fields.empty() || predict.fields.size() > kMaxRuns)
    fields.fail("predict", "needs 1 to " + std::to_string(kMaxRuns) + " scenarios");
  for (const base::Field& field : predict.fields) {
    system.runs.push_back(read_run(document, runs, field));
    const auto offer = [&](std::string_view quantity) {
      system.columns.header.push_back(
          {field.key + "." + std::string(quantity), field.place.line, field.place.column});
    };
    if (system.runs.back().jobs) {
      for (const Cell& column : system.runs.back().jobs->columns.header) offer(column.text);
      continue;
    }
    std::for_each(kQuantities.begin(), kQuantities.end(), offer);
    if (system.runs.back().sparse)
      std::for_each(kSparseQuantities.begin(), kSparseQuantities.end(), offer);
  }
  system.columns.file = system.file;
  for (const Value& item : fields.list("checks"))
    system.checks.push_back(read_check(fields.view(item, "checks"), item, system.columns));
  if (system.checks.empty()) fields.fail("checks", "is empty");
  system.why = sentence(fields, "why");
  fields.done();
}

System read_entry(Fields fields, const fs::path& folder) {
  System system;
  system.id = plain_name(fields, "id", fields.text("id"), '-');
  system.title = sentence(fields, "title");
  system.headline = sentence(fields, "headline");
  if (system.headline.size() > kHeadlineLength)
    fields.fail("headline", "is longer than " + std::to_string(kHeadlineLength) + " bytes");
  system.claim = sentence(fields, "claim");
  system.source = sentence(fields, "source");
  system.missing = fields.text_list("missing");
  for (const std::string& capability : system.missing) {
    if (std::find(kCapabilities.begin(), kCapabilities.end(), capability) != kCapabilities.end())
      continue;
    const std::vector<std::string> known(kCapabilities.begin(), kCapabilities.end());
    fields.fail("missing", base::quote(capability) + " is no known capability",
                base::suggest(capability, known, "one of"));
  }
  const fs::path file = folder / system.id / "system.yaml";
  const bool there = fs::exists(file);
  if (there && !system.missing.empty())
    fields.fail("missing", "the system has " + file.string() + " all the same",
                "take out one of the two");
  if (!there && system.missing.empty())
    fields.fail("id", "there is no " + file.string(), "write it, or say what is missing");
  fields.done();
  if (there) {
    system.file = file.string();
    read_system(system);
  }
  return system;
}

/// Folders nobody lists would be systems nobody sees.
void refuse_strays(const fs::path& folder, const std::set<std::string>& ids) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && ids.count(entry.path().filename().string()) == 0)
      throw base::Error(entry.path().string(), "the index does not list this system",
                        "add it to " + (folder / "index.yaml").string());
}

}  // namespace

std::string_view to_text(Relation relation) {
  for (const auto& [name, value] : kRelations)
    if (value == relation) return name;
  return "";
}

std::span<const std::string_view> system_quantities() { return kQuantities; }
std::span<const std::string_view> sparse_quantities() { return kSparseQuantities; }
std::span<const std::string_view> missing_capabilities() { return kCapabilities; }

std::vector<System> read_systems(const std::string& index) {
  const Document document = base::read_document(index);
  Fields fields(document, document.root);
  const fs::path folder = fs::path(index).parent_path();
  std::vector<System> systems;
  std::set<std::string> ids;
  for (const Value& item : fields.list("systems")) {
    Fields entry = fields.view(item, "systems");
    systems.push_back(read_entry(entry, folder));
    if (!ids.insert(systems.back().id).second)
      entry.fail("id", base::quote(systems.back().id) + " is there twice");
  }
  fields.done();
  refuse_strays(folder, ids);
  return systems;
}

std::string systems_file() {
  for (const fs::path& folder : scenario_folders())
    if (const fs::path file = folder / "systems/index.yaml"; fs::exists(file)) return file.string();
  throw base::Error("systems/index.yaml", "is in none of the scenario folders",
                    "set PACELINE_SCENARIOS to the folder that holds it");
}

}  // namespace paceline::models
