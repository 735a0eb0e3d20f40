// SPDX-License-Identifier: Apache-2.0
#include "reports/search.hpp"

#include <algorithm>

#include "base/json.hpp"
#include "reports/answer.hpp"
#include "reports/text.hpp"

namespace paceline::reports {
namespace {

PlannedLayout describe(const models::Scenario& base, const std::vector<std::string>& set,
                       sim::Candidate found) {
  models::Scenario laid = base;
  sim::apply(found.layout, laid);
  laid.parallel.stage_layers = found.stage_layers;
  PlannedLayout out;
  out.words = layout_text(found.layout);
  out.set = set;
  for (std::string& word : sim::settings(found.layout, laid, base))
    out.set.push_back(std::move(word));
  out.command = run_command(base.file, out.set, "--engine reference");
  if (const sim::MemoryPeak* peak = fullest(found.result)) {
    out.peak_bytes = peak->reserved_bytes;
    out.capacity_bytes = peak->capacity_bytes;
  }
  out.found = std::move(found);
  return out;
}

std::string_view name_of(sim::Objective objective) {
  return objective == sim::Objective::Time   ? "time"
         : objective == sim::Objective::Cost ? "cost"
                                             : "energy";
}

std::string counts_text(const SearchReport& r) {
  const sim::SearchCounts& c = r.counts;
  return base::format_count(c.points) + " layouts: " + base::format_count(c.invalid) +
         " do not divide, " + base::format_count(c.memory) + " need too much memory, " +
         base::format_count(c.bound) + " are worse by their bound, " +
         base::format_count(c.evaluated) + " simulated" +
         (c.left > 0 ? ", " + base::format_count(c.left) + " left" : "");
}

std::string table(const SearchReport& r, const TextStyle& style) {
  std::string out;
  const auto line = [&](const std::string& number, const std::string& step,
                        const std::string& tokens, const std::string& mfu,
                        const std::string& memory) {
    out += pad_left(number, 3) + pad_left(step, 10) + pad_left(tokens, 10) + pad_left(mfu, 9) +
           pad_left(memory, 20) + "\n";
  };
  line("", "step", "tokens/s", "MFU", "memory");
  for (std::size_t i = 0; i < r.best.size(); ++i) {
    const PlannedLayout& p = r.best[i];
    const sim::Result& result = p.found.result;
    line(std::to_string(i + 1), base::format_seconds(base::Seconds(result.step_time)),
         base::format_count(result.tokens_per_s), base::format_percent(result.mfu),
         base::format_bytes(base::Bytes(p.peak_bytes)) + " " +
             base::format_percent(p.peak_bytes / p.capacity_bytes));
    if (r.objective != sim::Objective::Time)
      out.insert(out.size() - 1, "  " + objective_text(r.objective, p.found.value));
    for (const std::string& text : wrap(p.words, 74))
      out += "      " + paint(text, i == 0 ? Ink::Bold : Ink::Plain, style) + "\n";
  }
  return out;
}

/// What would change the answer, a line each.
std::vector<std::string> binding_lines(const SearchReport& r) {
  std::vector<std::string> out;
  const std::string limit = base::format_bytes(base::Bytes(r.memory_limit)) + " a device";
  for (const PlannedLayout& p : r.with_more_memory) {
    std::string line = (out.empty() ? "memory, " + limit + ": with " : std::string("with ")) +
                       base::format_bytes(base::Bytes(p.peak_bytes)) + ", " + p.words +
                       " would take " +
                       base::format_seconds(base::Seconds(p.found.result.step_time));
    if (!r.best.empty()) {
      const double change = p.found.value / r.best.front().found.value - 1;
      line += " (" + std::string(name_of(r.objective)) + " " + base::format_percent(change) + ")";
    }
    out.push_back(std::move(line));
  }
  if (out.empty() && r.interrupted)
    out.emplace_back("what more memory would give was not looked at: interrupted");
  else if (out.empty() && !r.best.empty())
    out.push_back("not memory (" + limit +
                  "): of the layouts that need more, those with the best bounds are no better");
  if (!r.nearest.empty()) {
    const PlannedLayout& p = r.nearest.front();
    std::string line = "the limit on the run binds: the fastest layout, " + p.words + ", takes " +
                       base::format_seconds(base::Seconds(p.found.result.run_seconds)) +
                       " for the run";
    if (p.found.result.money)
      line += " and " + base::format_fixed(p.found.result.money->run, 0) + " USD";
    out.push_back(std::move(line));
  }
  return out;
}

std::string proof_text(const SearchReport& r) {
  const std::string left = base::format_count(r.counts.left) + " layouts are left";
  if (r.best.empty() && r.counts.left > 0)
    return "nothing found yet: " + left +
           (r.interrupted ? ", interrupted"
                          : " when the simulations asked for are used up (--evaluations)");
  if (r.best.empty() && !r.nearest.empty()) return "no layout meets the limits on the run";
  if (r.best.empty()) return "no layout fits";
  if (r.proven) return "proven: no layout of the space is better";
  std::string text = std::string("not proven: ") +
                     (r.interrupted ? "interrupted, " + left
                                    : std::string("the simulations asked for are used up")) +
                     "; a layout may be better by " + base::format_percent(r.gap) + " at most";
  if (r.least_left)
    text += ", for none takes less than " + objective_text(r.objective, *r.least_left);
  return text;
}

/// "143.7 days and 96.5 k USD": of the best layout.
std::string run_text(const sim::Result& result) {
  std::string text = base::format_fixed(result.run_seconds / 86400, 1) + " days";
  if (result.money) text += " and " + base::format_fixed(result.money->run, 0) + " USD";
  return text + ", without failures and checkpoints";
}

void layout_json(base::JsonWriter& json, const PlannedLayout& p) {
  const sim::Layout& l = p.found.layout;
  json.begin_object();
  json.field("layout", std::string_view(p.words));
  json.field("value", p.found.value).field("bound_s", p.found.bound.seconds);
  json.field("step_time_s", p.found.result.step_time);
  json.field("tokens_per_s", p.found.result.tokens_per_s).field("mfu", p.found.result.mfu);
  json.field("reserved_bytes", p.peak_bytes).field("capacity_bytes", p.capacity_bytes);
  if (p.found.result.money) json.field("cost_usd", p.found.result.money->step.total());
  if (p.found.result.run_seconds > 0) json.field("run_s", p.found.result.run_seconds);
  if (p.found.result.money && p.found.result.money->run > 0)
    json.field("run_usd", p.found.result.money->run);
  if (p.found.result.energy) json.field("energy_J", p.found.result.energy->step.middle);
  json.field("devices", l.devices).field("order", l.order);
  json.field("tp", l.tp).field("cp", l.cp).field("pp", l.pp).field("dp", l.dp());
  json.field("ep", l.ep).field("etp", l.etp).field("zero", l.zero);
  json.field("sequence_parallel", l.sequence_parallel).field("micro", l.micro);
  json.field("schedule", l.schedule).field("chunks", l.chunks);
  json.field("recompute", std::string_view(sim::to_text(l.recompute)));
  json.field("offload", l.offload);
  json.field("optimizer_on_host", l.optimizer != models::OptimizerDevice::Gpu);
  if (!p.found.stage_layers.empty()) {
    json.key("stage_layers").begin_array(true);
    for (const int layers : p.found.stage_layers) json.value(layers);
    json.end_array();
  }
  json.field("command", std::string_view(p.command));
  json.end_object();
}

}  // namespace

std::string objective_text(sim::Objective objective, double value) {
  if (objective == sim::Objective::Time) return base::format_seconds(base::Seconds(value));
  if (objective == sim::Objective::Cost)
    return base::format_fixed(value, value < 10 ? 3 : 1) + " USD";
  return base::format_count(value) + "J";
}

std::string layout_text(const sim::Layout& l) {
  std::string out;
  const auto add = [&](const std::string& word) { out += (out.empty() ? "" : ", ") + word; };
  add("tp " + std::to_string(l.tp) + (l.sequence_parallel ? " + sp" : ""));
  add("pp " + std::to_string(l.pp) + (l.chunks > 1 ? " x " + std::to_string(l.chunks) : ""));
  if (l.cp > 1) add("cp " + std::to_string(l.cp));
  add("dp " + std::to_string(l.dp()));
  if (l.ep > 1) add("ep " + std::to_string(l.ep));
  if (l.etp > 1) add("etp " + std::to_string(l.etp));
  add("zero " + std::to_string(l.zero));
  add("micro " + std::to_string(l.micro));
  add(std::string(l.schedule));
  add("recompute " + sim::to_text(l.recompute));
  if (l.balanced) add("balanced layers");
  if (l.order != sim::SearchSpace{}.order.front()) add(std::string(l.order));
  if (l.offload > 0) add(base::format_percent(l.offload) + " offloaded");
  if (l.optimizer != models::OptimizerDevice::Gpu) add("optimizer on the host");
  return out;
}

SearchReport make_search_report(const models::Scenario& s, const std::vector<std::string>& set,
                                const sim::SearchOptions& options, sim::SearchAnswer answer,
                                std::string command) {
  SearchReport r;
  r.version = PACELINE_VERSION;
  r.command = std::move(command);
  r.scenario = s.name;
  r.file = s.file;
  r.hash = s.hash;
  r.model = s.model.name;
  r.machine = describe_machine(s.cluster);
  r.objective = options.objective;
  r.limits = options.limits;
  r.proven = answer.proven;
  r.gap = answer.gap;
  r.interrupted = answer.stopped;
  r.least_left = answer.least_left;
  r.counts = answer.counts;
  r.assumptions = s.assumptions;
  for (sim::Candidate& c : answer.best) r.best.push_back(describe(s, set, std::move(c)));
  r.memory_limit = answer.memory_limit;
  for (sim::Candidate& c : answer.with_more_memory)
    r.with_more_memory.push_back(describe(s, set, std::move(c)));
  r.tried = std::move(answer.tried);
  if (answer.nearest) r.nearest.push_back(describe(s, set, std::move(*answer.nearest)));
  return r;
}

std::string search_text(const SearchReport& r, const TextStyle& style) {
  const auto block = [](const std::string& title, const std::string& text) {
    std::string out;
    std::string head = pad_right(title, 11);
    for (const std::string& line : wrap(text, 80 - 11)) {
      out += head + line + "\n";
      head = pad_right("", 11);
    }
    return out;
  };
  std::string out = paint(printable(r.scenario), Ink::Bold, style) + "\n";
  out += block("model", printable(r.model));
  out += block("machine", printable(r.machine));
  out += block("searched", counts_text(r));
  out += block("answer", proof_text(r)) + "\n";
  if (!r.best.empty()) out += table(r, style) + "\n";
  if (!r.best.empty() && r.best.front().found.result.run_seconds > 0)
    out += block("the run", run_text(r.best.front().found.result));
  const std::vector<std::string> binding = binding_lines(r);
  for (std::size_t i = 0; i < binding.size(); ++i)
    out += block(i == 0 ? "binding" : "", binding[i]);
  for (const std::string& assumption : r.assumptions)
    out += block("assumed", printable(assumption));
  if (!r.best.empty()) out += "\nrun it     " + r.best.front().command + "\n";
  out += "again      " + r.command + "   (version " + r.version + ", scenario " +
         r.hash.substr(0, 12) + ")\n";
  return out;
}

std::string search_json(const SearchReport& r) {
  base::JsonWriter json;
  json.begin_object();
  json.field("schema", kSearchSchema);
  json.field("version", std::string_view(r.version)).field("command", std::string_view(r.command));
  json.field("scenario", std::string_view(r.scenario)).field("file", std::string_view(r.file));
  json.field("hash", std::string_view(r.hash)).field("model", std::string_view(r.model));
  json.field("machine", std::string_view(r.machine)).field("objective", name_of(r.objective));
  json.field("memory_limit_bytes", r.memory_limit);
  json.field("proven", r.proven).field("gap", r.gap).field("interrupted", r.interrupted);
  if (r.least_left) json.field("least_left", *r.least_left);
  json.field("answer", std::string_view(proof_text(r)));
  const auto texts = [&](const char* key, const std::vector<std::string>& lines) {
    json.key(key).begin_array();
    for (const std::string& line : lines) json.value(std::string_view(line));
    json.end_array();
  };
  texts("binding", binding_lines(r));
  json.key("counts").begin_object();
  json.field("points", r.counts.points).field("invalid", r.counts.invalid);
  json.field("memory", r.counts.memory).field("bound", r.counts.bound);
  json.field("evaluated", r.counts.evaluated).field("left", r.counts.left).end_object();
  const auto list = [&](const char* key, const std::vector<PlannedLayout>& layouts) {
    json.key(key).begin_array();
    for (const PlannedLayout& layout : layouts) layout_json(json, layout);
    json.end_array();
  };
  list("best", r.best);
  list("with_more_memory", r.with_more_memory);
  list("nearest", r.nearest);
  texts("assumptions", r.assumptions);
  json.end_object();
  return json.finish();
}

}  // namespace paceline::reports
