// SPDX-License-Identifier: Apache-2.0
#include "reports/result_json.hpp"

#include <limits>

#include "base/error.hpp"
#include "base/json.hpp"
#include "reports/energy.hpp"
#include "reports/names.hpp"
#include "reports/network.hpp"
#include "reports/outer.hpp"
#include "reports/outlook.hpp"
#include "reports/staleness.hpp"

namespace paceline::reports {

namespace {

using base::JsonWriter;

void texts(JsonWriter& json, std::string_view key, const std::vector<std::string>& items) {
  json.key(key).begin_array();
  for (const std::string& item : items) json.value(std::string_view(item));
  json.end_array();
}

void text(JsonWriter& json, std::string_view key, const std::string& value) {
  json.field(key, std::string_view(value));
}

/// An open list: names with values, zeros left out.
template <class Values>
void open_list(JsonWriter& json, std::string_view key, const std::vector<std::string>& names,
               const Values& values) {
  json.key(key).begin_object();
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (values[i] != 0) json.field(names[i], values[i]);
  }
  json.end_object();
}

void write_scenario(JsonWriter& json, const Answer& a) {
  json.key("scenario").begin_object();
  text(json, "name", a.scenario);
  text(json, "file", a.file);
  text(json, "hash", a.hash);
  text(json, "model", a.model);
  json.field("parameters", a.parameters);
  text(json, "machine", a.machine);
  json.field("devices", a.devices);
  text(json, "stack", a.stack);
  texts(json, "profiles", a.profiles);
  const models::Parallel& p = a.parallel;
  json.key("parallel").begin_object();
  json.field("tp", p.tp).field("pp", p.pp).field("cp", p.cp).field("dp", p.dp);
  json.field("ep", p.ep).field("etp", p.etp);
  texts(json, "order", p.order);
  json.field("zero", p.zero).field("shard", p.shard);
  json.field("sequence_parallel", p.sequence_parallel);
  json.field("context", p.context.method->name);
  if (p.cp > 1) {
    json.field("context_order", p.context.order->name);
    if (p.context.method->traits.inner) json.field("context_inner", p.context.inner);
    if (p.context.method->traits.chunks) json.field("context_chunks", p.context.chunks);
  }
  json.key("stage_layers").begin_array(true);
  for (const int layers : p.stage_layers) json.value(layers);
  json.end_array();
  json.end_object();
  json.key("schedule").begin_object();
  text(json, "name", a.schedule.name);
  json.field("chunks", a.schedule.chunks);
  const models::DispatchOptions& dispatch = a.schedule.dispatch;
  const bool fixed = dispatch.policy == models::Dispatch::Fixed;
  json.field("dispatch", fixed ? "fixed" : "ready");
  if (!fixed) {
    json.field("buffers", dispatch.buffers);  // 0: any number
    json.field("coordination_s", dispatch.coordination.value);
  }
  json.end_object();
  json.key("batch").begin_object();
  json.field("global", a.batch.global).field("micro", a.batch.micro);
  json.field("sequence", a.batch.sequence).end_object();
  text(json, "precision", a.precision);
  text(json, "recompute", a.recompute);
  text(json, "attention", a.attention);
  text(json, "optimizer", a.optimizer);
  json.end_object();
}

void write_class(JsonWriter& json, const sim::MemoryPeak& peak, const RankClass& rank_class) {
  json.begin_object();
  text(json, "ranks", rank_class.ranks);
  json.field("lane", peak.lane).field("representative", peak.representative);
  json.field("members", peak.members).field("pipeline_rank", rank_class.pipeline_rank);
  json.key("stages").begin_array(true);
  for (const int stage : rank_class.stages) json.value(stage);
  json.end_array();
  text(json, "ends", rank_class.ends);
  json.field("peak_bytes", peak.peak_bytes).field("reserved_bytes", peak.reserved_bytes);
  json.field("capacity_bytes", peak.capacity_bytes).field("fits", peak.fits());
  json.field("peak_at_s", peak.at_seconds);
  if (peak.host_bytes > 0) json.field("host_bytes", peak.host_bytes);
  text(json, "peak_during", rank_class.at);
  open_list(json, "parts_bytes", memory_part_keys(), peak.parts);
  json.end_object();
}

void write_memory(JsonWriter& json, const Answer& a) {
  const sim::MemoryPeak* peak = fullest(a.result);
  json.key("memory").begin_object();
  json.field("peak_bytes", peak == nullptr ? 0.0 : peak->peak_bytes);
  json.field("reserved_bytes", peak == nullptr ? 0.0 : peak->reserved_bytes);
  json.field("capacity_bytes", peak == nullptr ? 0.0 : peak->capacity_bytes);
  json.field("fits", a.result.fits());
  json.key("per_rank").begin_array();
  for (std::size_t i = 0; i < a.classes.size(); ++i) {
    write_class(json, a.result.memory[i], a.classes[i]);
  }
  json.end_array().end_object();
}

void write_estimate(JsonWriter& json, std::string_view key, const sim::Estimate& e) {
  json.key(key).begin_object().field("value_s", e.value);
  for (const auto& [name, bound] : {std::pair{"low_s", &e.low}, {"high_s", &e.high}}) {
    json.key(name);
    if (*bound) {
      json.value(**bound);
    } else {
      json.null();
    }
  }
  json.end_object();
}

void write_distribution(JsonWriter& json, const sim::StepDistribution& d) {
  json.key("distribution").begin_object().field("repetitions", d.repetitions);
  json.field("seed", d.seed).field("confidence", 0.95);
  write_estimate(json, "mean", d.mean);
  write_estimate(json, "p50", d.p50);
  write_estimate(json, "p95", d.p95);
  write_estimate(json, "p99", d.p99);
  json.end_object();
}

void write_numbers(JsonWriter& json, const sim::Result& r) {
  text(json, "engine", r.engine);
  if (!r.fidelity.empty()) text(json, "fidelity", r.fidelity);
  json.key("seed");
  if (r.distribution) {
    json.value(r.distribution->seed);
  } else {
    json.null();  // nothing is random
  }
  json.field("step_time_s", r.step_time);
  json.key("step_time_band_s").begin_array(true);
  json.value(r.step_time_low).value(r.step_time_high).end_array();
  if (r.distribution) write_distribution(json, *r.distribution);
  json.field("tokens_per_s", r.tokens_per_s).field("samples_per_s", r.samples_per_s);
  if (r.run_tokens > 0) {
    json.key("run").begin_object().field("tokens", r.run_tokens).field("time_s", r.run_seconds);
    json.field("device_s", r.run_device_seconds).end_object();
  }
  if (!r.phases.empty()) {
    json.key("phases").begin_array();
    for (const sim::PhaseResult& phase : r.phases) {
      json.begin_object().field("first_step", phase.first_step);
      json.field("last_step", phase.last_step).field("step_s", phase.step_seconds).end_object();
    }
    json.end_array();
  }
  json.field("mfu", r.mfu).field("hfu", r.hfu);
  json.field("model_flops_per_step", r.model_flops);
  json.field("hardware_flops_per_step", r.hardware_flops);
  json.key("bubble_fraction").begin_object();
  json.field("makespan", r.bubble_makespan).field("longest_stage", r.bubble_longest_stage);
  json.end_object();
  open_list(json, "breakdown_s", part_keys(), r.breakdown);
  json.field("breakdown_lane", r.critical_lane);
  if (!r.foreign) return;
  json.key("foreign").begin_object().field("pieces", r.foreign->pieces);
  json.field("done", r.foreign->done).field("piece_s", r.foreign->piece_seconds);
  json.field("done_s", r.foreign->done * r.foreign->piece_seconds).end_object();
}

int small(base::Fields& from, std::string_view key, std::int64_t low = 0) {
  return static_cast<int>(from.integer(key, low, 2'000'000'000));
}

std::vector<int> int_list(base::Fields& from, std::string_view key) {
  std::vector<int> out;
  for (const base::Value& item : from.list(key)) {
    out.push_back(
        static_cast<int>(base::parse_integer(item.text, from.where(item, key), 0, 2'000'000'000)));
  }
  return out;
}

template <class Values>
void read_open_list(base::Fields from, const std::vector<std::string>& names, Values& values) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    values[i] = from.number(names[i], -kAny, kAny, 0.0);
  }
  from.done();
}

void read_context(base::Fields& from, models::Parallel& p) {
  p.context.method = models::context_method(from.text("context"));
  if (p.context.method == nullptr) from.fail("context", "is no method of context parallelism");
  p.context.order = models::context_order(from.text("context_order", "zigzag"));
  if (p.context.order == nullptr) from.fail("context_order", "is no order of tokens");
  if (from.has("context_inner")) p.context.inner = small(from, "context_inner", 1);
  if (from.has("context_chunks")) p.context.chunks = small(from, "context_chunks", 1);
}

void read_parallel(base::Fields from, models::Parallel& p) {
  p.tp = small(from, "tp", 1);
  p.pp = small(from, "pp", 1);
  p.cp = small(from, "cp", 1);
  p.dp = small(from, "dp", 1);
  p.ep = small(from, "ep", 1);
  p.etp = small(from, "etp", 1);
  p.order = from.text_list("order");
  p.zero = small(from, "zero");
  p.shard = small(from, "shard");
  p.sequence_parallel = from.flag("sequence_parallel");
  read_context(from, p);
  p.stage_layers = int_list(from, "stage_layers");
  from.done();
}

void read_scenario_block(base::Fields from, Answer& a) {
  a.scenario = from.text("name");
  a.file = from.text("file");
  a.hash = from.text("hash");
  a.model = from.text("model");
  a.parameters = from.integer("parameters", 0, kLargestCount);
  a.machine = from.text("machine");
  a.devices = small(from, "devices");
  a.stack = from.text("stack");
  a.profiles = from.text_list("profiles");
  read_parallel(from.map("parallel"), a.parallel);
  base::Fields schedule = from.map("schedule");
  a.schedule.name = schedule.text("name");
  a.schedule.chunks = small(schedule, "chunks", 1);
  static constexpr base::Named<models::Dispatch> kDispatch[] = {{"fixed", models::Dispatch::Fixed},
                                                                {"ready", models::Dispatch::Ready}};
  a.schedule.dispatch.policy =
      schedule.choice("dispatch", std::span<const base::Named<models::Dispatch>>(kDispatch));
  if (a.schedule.dispatch.policy == models::Dispatch::Ready) {
    a.schedule.dispatch.buffers = small(schedule, "buffers");
    a.schedule.dispatch.coordination = base::Seconds(schedule.number("coordination_s", 0, kAny));
  }
  schedule.done();
  base::Fields batch = from.map("batch");
  a.batch.global = batch.integer("global", 0, kLargestCount);
  a.batch.micro = batch.integer("micro", 0, kLargestCount);
  a.batch.sequence = batch.integer("sequence", 0, kLargestCount);
  batch.done();
  a.precision = from.text("precision");
  a.recompute = from.text("recompute");
  a.attention = from.text("attention");
  a.optimizer = from.text("optimizer");
  from.done();
}

void read_class(base::Fields from, Answer& a) {
  sim::MemoryPeak peak;
  RankClass rank_class;
  rank_class.ranks = from.text("ranks");
  peak.lane = small(from, "lane");
  peak.representative = small(from, "representative");
  peak.members = from.integer("members", 1, kLargestCount);
  rank_class.pipeline_rank = small(from, "pipeline_rank");
  rank_class.stages = int_list(from, "stages");
  rank_class.ends = from.text("ends");
  peak.peak_bytes = from.number("peak_bytes", 0, kAny);
  peak.reserved_bytes = from.number("reserved_bytes", 0, kAny);
  peak.capacity_bytes = from.number("capacity_bytes", 0, kAny);
  if (from.flag("fits") != peak.fits()) {
    from.fail("fits", "contradicts reserved_bytes and capacity_bytes", "was the file edited?");
  }
  peak.at_seconds = from.number("peak_at_s", 0, kAny);
  if (from.has("host_bytes")) peak.host_bytes = from.number("host_bytes", 0, kAny);
  rank_class.at = from.text("peak_during");
  read_open_list(from.map("parts_bytes"), memory_part_keys(), peak.parts);
  from.done();
  a.result.memory.push_back(peak);
  a.classes.push_back(rank_class);
}

void read_memory(base::Fields from, Answer& a) {
  from.number("peak_bytes", 0, kAny);  // of the fullest class: follows from per_rank
  from.number("reserved_bytes", 0, kAny);
  from.number("capacity_bytes", 0, kAny);
  const bool fits = from.flag("fits");
  std::size_t index = 0;
  for (const base::Value& item : from.list("per_rank")) {
    read_class(from.view(item, "per_rank." + std::to_string(index++)), a);
  }
  if (fits != a.result.fits()) from.fail("fits", "contradicts per_rank", "was the file edited?");
  from.done();
}

sim::Estimate read_estimate(base::Fields from) {
  sim::Estimate e;
  e.value = from.number("value_s", 0, kAny);
  if (from.has("low_s")) e.low = from.number("low_s", -kAny, kAny);
  if (from.has("high_s")) e.high = from.number("high_s", -kAny, kAny);
  from.done();
  return e;
}

sim::StepDistribution read_distribution(base::Fields from) {
  sim::StepDistribution d;
  d.repetitions = small(from, "repetitions", 1);
  d.seed =
      static_cast<std::uint64_t>(from.integer("seed", 0, std::numeric_limits<std::int64_t>::max()));
  from.number("confidence", 0.95, 0.95);
  d.mean = read_estimate(from.map("mean"));
  d.p50 = read_estimate(from.map("p50"));
  d.p95 = read_estimate(from.map("p95"));
  d.p99 = read_estimate(from.map("p99"));
  from.done();
  return d;
}

void read_numbers(base::Fields& from, sim::Result& r) {
  r.engine = from.text("engine");
  if (from.has("fidelity")) r.fidelity = from.text("fidelity");
  from.find("seed");
  r.step_time = from.number("step_time_s", 0, kAny);
  const auto& band = from.list("step_time_band_s");
  if (band.size() != 2) from.fail("step_time_band_s", "has to be [low, high]");
  r.step_time_low =
      base::parse_number(band[0].text, from.where(band[0], "step_time_band_s"), 0, kAny);
  r.step_time_high =
      base::parse_number(band[1].text, from.where(band[1], "step_time_band_s"), 0, kAny);
  if (from.has("distribution")) r.distribution = read_distribution(from.map("distribution"));
  r.tokens_per_s = from.number("tokens_per_s", 0, kAny);
  r.samples_per_s = from.number("samples_per_s", 0, kAny);
  if (from.has("run")) {
    base::Fields run = from.map("run");
    r.run_tokens = run.number("tokens", 1, kAny);
    r.run_seconds = run.number("time_s", 0, kAny);
    r.run_device_seconds = run.number("device_s", 0, kAny);
    run.done();
  }
  if (from.has("phases")) {
    for (const base::Value& item : from.list("phases")) {
      base::Fields phase = from.view(item, "phases");
      constexpr std::int64_t kMost = std::int64_t{1} << 60;
      r.phases.push_back({phase.integer("first_step", 1, kMost),
                          phase.integer("last_step", 1, kMost), phase.number("step_s", 0, kAny)});
      phase.done();
    }
  }
  r.mfu = from.number("mfu", 0, kAny);
  r.hfu = from.number("hfu", 0, kAny);
  r.model_flops = from.number("model_flops_per_step", 0, kAny);
  r.hardware_flops = from.number("hardware_flops_per_step", 0, kAny);
  base::Fields bubble = from.map("bubble_fraction");
  r.bubble_makespan = bubble.number("makespan", -kAny, kAny);
  r.bubble_longest_stage = bubble.number("longest_stage", -kAny, kAny);
  bubble.done();
  read_open_list(from.map("breakdown_s"), part_keys(), r.breakdown);
  r.critical_lane = small(from, "breakdown_lane");
  if (!from.has("foreign")) return;
  base::Fields foreign = from.map("foreign");
  r.foreign = sim::ForeignDone{small(foreign, "pieces", 1), small(foreign, "done"),
                               foreign.number("piece_s", 0, kAny)};
  if (r.foreign->done > r.foreign->pieces)
    foreign.fail("done", "is above pieces", "was the file edited?");
  foreign.number("done_s", 0, kAny);  // follows from the others
  foreign.done();
}

}  // namespace

std::string to_json(const Answer& answer) {
  JsonWriter json;
  json.begin_object();
  json.field("schema", kResultSchema);
  text(json, "version", answer.version);
  text(json, "command", answer.command);
  write_scenario(json, answer);
  write_numbers(json, answer.result);
  write_memory(json, answer);
  open_list(json, "traffic_bytes", stream_keys(), answer.result.traffic_bytes);
  if (answer.result.network) {
    json.key("network");
    write_network(json, *answer.result.network, answer.result.step_time);
  }
  if (answer.result.outer) write_outer(json, *answer.result.outer);
  if (answer.result.outlook) write_outlook(json, *answer.result.outlook);
  if (answer.result.energy) write_energy(json, answer.result);
  if (answer.result.money) write_cost(json, answer.result);
  if (answer.result.staleness) {
    json.key("staleness");
    write_staleness(json, *answer.result.staleness);
  }
  texts(json, "assumptions", answer.result.assumptions);
  texts(json, "warnings", answer.result.warnings);
  json.end_object();
  return json.finish();
}

bool is_result(const base::Document& document) {
  return base::find_path(document.root, "schema") != nullptr &&
         base::find_path(document.root, "step_time_s") != nullptr;
}

Answer read_answer(const base::Document& document) {
  base::Fields from(document, document.root);
  const std::string schema = from.text("schema");
  if (schema != kResultSchema) {
    from.fail("schema", "is \"" + schema + "\"",
              "this version reads \"" + std::string(kResultSchema) + "\"");
  }
  Answer answer;
  answer.version = from.text("version");
  answer.command = from.text("command");
  read_scenario_block(from.map("scenario"), answer);
  read_numbers(from, answer.result);
  read_memory(from.map("memory"), answer);
  read_open_list(from.map("traffic_bytes"), stream_keys(), answer.result.traffic_bytes);
  if (from.has("network")) answer.result.network = read_network(from.map("network"));
  if (from.has("failures")) answer.result.outlook = read_outlook(from.map("failures"));
  if (from.has("outer")) answer.result.outer = read_outer_result(from.map("outer"));
  if (from.has("energy")) read_energy(from.map("energy"), answer.result);
  if (from.has("cost")) read_cost(from.map("cost"), answer.result);
  if (from.has("staleness")) answer.result.staleness = read_staleness(from.map("staleness"));
  answer.result.assumptions = from.text_list("assumptions");
  answer.result.warnings = from.text_list("warnings");
  from.done();
  return answer;
}

}  // namespace paceline::reports
