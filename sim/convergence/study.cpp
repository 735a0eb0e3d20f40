// SPDX-License-Identifier: Apache-2.0
#include "sim/convergence/study.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "models/scenario/scenario.hpp"
#include "sim/predict.hpp"

namespace paceline::sim::convergence {
namespace {

using Shape = RateSchedule::Shape;
constexpr std::array<base::Named<Shape>, 3> kShapes{
    {{"constant", Shape::Constant}, {"linear", Shape::Linear}, {"cosine", Shape::Cosine}}};
constexpr std::size_t kMaxRuns = 100'000;

std::vector<double> sorted_rates(std::vector<double> rates) {
  std::sort(rates.begin(), rates.end());
  rates.erase(std::unique(rates.begin(), rates.end()), rates.end());
  return rates;
}

/// `[0.1, 0.2]`, one number, or `{low:, high:, factor:}`; empty where the key is absent.
std::vector<double> read_rates(base::Fields& fields, std::string_view key) {
  constexpr double kLeast = 1e-15, kMost = 1e9;
  const base::Value* value = fields.find(key);
  if (value == nullptr) return {};
  std::vector<double> rates;
  if (value->kind == base::Value::Kind::Scalar) return {fields.number(key, kLeast, kMost)};
  if (value->kind == base::Value::Kind::Map) {
    base::Fields own = fields.map(key);
    const double low = own.number("low", kLeast, kMost), high = own.number("high", low, kMost);
    const double factor = own.number("factor", 1.01, 1e6, 2);
    own.done();
    for (double r = low; r <= high * (1 + 1e-9); r *= factor) rates.push_back(r);
    return rates;
  }
  for (const base::Value& item : fields.list(key))
    rates.push_back(base::parse_number(item.text, fields.where(item, key), kLeast, kMost));
  if (rates.empty()) fields.fail(key, "is empty", "learning rates to try");
  return sorted_rates(std::move(rates));
}

/// Calls `read` with every entry of the list; a single map or bare kinds (names alone) will do.
template <class Read>
void for_each_entry(base::Fields& fields, std::string_view key, const Read& read) {
  std::set<std::string> names;
  const auto one = [&](const base::Value& value) {
    base::Value map = value;
    if (value.kind == base::Value::Kind::Scalar) {
      map = base::Value{};
      map.kind = base::Value::Kind::Map;
      map.place = value.place;
      map.fields.push_back({"kind", value.place, value});
    }
    if (map.kind != base::Value::Kind::Map)
      throw base::Error(fields.where(value, key), "has to be a map with a kind, or a kind");
    base::Fields own = fields.view(map, key);
    const std::string name = own.text("name", own.text("kind"));
    if (name.empty() || name.find_first_of(" .:()") != std::string::npos)
      own.fail("name", "has spaces, dots, colons or brackets", "letters, digits and - _");
    if (!names.insert(name).second)
      own.fail("name", "'" + name + "' stands twice", "give each its own name");
    read(own, name);
    own.done();
  };
  const base::Value& value = fields.at(key);
  if (value.kind != base::Value::Kind::List) return one(value);
  if (value.items.empty()) fields.fail(key, "is empty");
  for (const base::Value& item : value.items) one(item);
}

RateSchedule read_rate_schedule(base::Fields& fields) {
  RateSchedule s;
  if (!fields.has("schedule")) return s;
  base::Fields own = fields.map("schedule");
  s.shape = own.choice<Shape>("shape", kShapes, Shape::Constant);
  s.warm_up = own.number("warm_up", 0, 1, 0);
  s.floor = own.number("floor", 0, 1, s.floor);
  own.done();
  return s;
}

std::vector<std::uint64_t> read_seeds(base::Fields& fields) {
  const auto count = fields.integer("seeds", 1, 1000, 5);
  const auto first = fields.integer("first_seed", 0, 1'000'000'000, 0);
  std::vector<std::uint64_t> seeds;
  for (std::int64_t s = 0; s < count; ++s) seeds.push_back(static_cast<std::uint64_t>(first + s));
  return seeds;
}

Clock read_clock(base::Fields& fields, const std::string& folder) {
  Clock clock;
  if (!fields.has("timeline")) return clock;
  base::Fields own = fields.map("timeline");
  clock.scenario = own.text("scenario", "");
  if (!clock.scenario.empty()) {
    const std::string path = (std::filesystem::path(folder) / clock.scenario).string();
    clock.step_seconds = predict(models::read_scenario_file(path)).result.step_time;
  } else {
    clock.step_seconds = own.seconds("step").value;
  }
  clock.exchange_seconds = own.seconds("exchange", base::Seconds(0)).value;
  clock.bytes_scale = own.number("bytes_scale", 0, 1e15, 1);
  clock.price_per_second = own.number("price_per_hour", 0, 1e12, 0) / 3600;
  own.done();
  return clock;
}

/// What objectives, methods and optimizers say beyond themselves.
struct Restrictions {
  std::vector<std::vector<std::string>> optimizers, objectives;  ///< by method; empty: all
  std::vector<std::vector<double>> optimizer_rates, method_rates;
  std::vector<std::int64_t> steps;  ///< by objective; 0: the study's
  std::vector<int> batch;
};

template <class T>
void check_names(base::Fields& fields, std::string_view key, const std::vector<std::string>& wanted,
                 const std::vector<Named<T>>& there) {
  std::vector<std::string> names;
  for (const auto& one : there) names.push_back(one.name);
  for (const std::string& name : wanted) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string close = base::nearest(name, names);
    fields.fail(key, "'" + name + "' is not there",
                close.empty() ? "a name of this study" : "did you mean '" + close + "'?");
  }
}

bool allowed(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

std::string cell_name(const Study& s, std::size_t o, std::size_t m, std::size_t p) {
  std::string name;
  const auto add = [&](bool several, const std::string& part) {
    if (several) name += (name.empty() ? "" : ".") + part;
  };
  add(s.objectives.size() > 1, s.objectives[o].name);
  add(s.methods.size() > 1, s.methods[m].name);
  add(s.optimizers.size() > 1, s.optimizers[p].name);
  return name.empty() ? s.objectives[o].name : name;
}

void make_cells(base::Fields& fields, Study& s, const Restrictions& r, const Training& training,
                const std::string& tuned_for) {
  for (std::size_t o = 0; o < s.objectives.size(); ++o) {
    for (std::size_t m = 0; m < s.methods.size(); ++m) {
      if (!allowed(r.objectives[m], s.objectives[o].name)) continue;
      for (std::size_t p = 0; p < s.optimizers.size(); ++p) {
        if (!allowed(r.optimizers[m], s.optimizers[p].name)) continue;
        Cell cell{cell_name(s, o, m, p), o, m, p, training, r.method_rates[m], std::nullopt};
        if (cell.rates.empty()) cell.rates = r.optimizer_rates[p];
        if (cell.rates.empty()) cell.rates = {training.rate};
        if (r.steps[o] > 0) cell.training.steps = r.steps[o];
        if (r.batch[o] > 0) cell.training.batch = r.batch[o];
        s.cells.push_back(std::move(cell));
      }
    }
  }
  if (tuned_for == "each") return;
  for (Cell& cell : s.cells) {
    if (s.methods[cell.method].name == tuned_for || !r.method_rates[cell.method].empty()) continue;
    for (std::size_t c = 0; c < s.cells.size(); ++c) {
      const Cell& other = s.cells[c];
      if (s.methods[other.method].name == tuned_for && other.objective == cell.objective &&
          other.optimizer == cell.optimizer)
        cell.rate_of = c;
    }
    if (!cell.rate_of)
      fields.fail("tuned_for", "'" + cell.name + "' has no counterpart with '" + tuned_for + "'");
  }
}

void read_training(base::Fields& fields, const std::string& folder, Study& study) {
  Restrictions r;
  for_each_entry(fields, "objective", [&](base::Fields& own, const std::string& name) {
    study.objectives.push_back({name, read_objective(own)});
    r.steps.push_back(own.integer("steps", 1, 10'000'000, 0));
    r.batch.push_back(static_cast<int>(own.integer("batch", 1, 1'000'000, 0)));
  });
  for_each_entry(fields, "optimizers", [&](base::Fields& own, const std::string& name) {
    study.optimizers.push_back({name, read_optimizer(own)});
    r.optimizer_rates.push_back(read_rates(own, "rates"));
  });
  for_each_entry(fields, "methods", [&](base::Fields& own, const std::string& name) {
    study.methods.push_back({name, read_method(own)});
    study.clocks.push_back(read_clock(own, folder));
    r.method_rates.push_back(read_rates(own, "rates"));
    r.optimizers.push_back(own.text_list("optimizers"));
    check_names(own, "optimizers", r.optimizers.back(), study.optimizers);
    r.objectives.push_back(own.text_list("objectives"));
    check_names(own, "objectives", r.objectives.back(), study.objectives);
  });
  Training t;
  t.steps = fields.integer("steps", 1, 10'000'000, t.steps);
  t.batch = static_cast<int>(fields.integer("batch", 1, 1'000'000, t.batch));
  t.clip = fields.number("clip", 0, 1e12, 0);
  t.points = static_cast<int>(fields.integer("points", 1, 10'000, t.points));
  t.rate = fields.number("rate", 1e-15, 1e9, t.rate);
  t.schedule = read_rate_schedule(fields);
  const std::string tuned_for = fields.text("tuned_for", "each");
  if (tuned_for != "each") check_names(fields, "tuned_for", {tuned_for}, study.methods);
  make_cells(fields, study, r, t, tuned_for);
  std::size_t runs = 0;
  for (const Cell& cell : study.cells) runs += cell.rates.size() * study.seeds.size();
  if (study.cells.empty()) fields.fail("methods", "leave nothing to train");
  if (runs > kMaxRuns)
    fields.fail("seeds", "make " + std::to_string(runs) + " runs", "at most 100000");
}

/// Names that expectations may use: cells and experiments; their figures follow a colon and are
/// not known before they have run.
void read_expectations(base::Fields& fields, Study& study) {
  if (!fields.has("expect")) return;
  std::vector<std::string> known;
  for (const Cell& cell : study.cells) known.push_back(cell.name);
  for (const auto& e : study.experiments) known.push_back(e.name);
  for (const base::Value& item : fields.list("expect")) {
    base::Fields own = fields.view(item, "expect");
    Expectation e;
    const std::string text = own.text("that");
    std::vector<std::string> names = known;  // and what follows a colon
    std::string word;
    for (const char c : text + " ") {
      if (c != ' ' && c != '(' && c != ')') {
        word += c;
        continue;
      }
      const std::size_t colon = word.find(':');
      if (colon != std::string::npos && allowed(known, word.substr(0, colon)))
        names.push_back(word);
      word.clear();
    }
    e.that = parse_expression(text, own.where("that"), names);
    if (own.has("least")) e.least = own.number("least", -1e300, 1e300);
    if (own.has("most")) e.most = own.number("most", -1e300, 1e300);
    if (!e.least && !e.most) own.fail("that", "has no bound", "least: or most:");
    e.seeds =
        static_cast<int>(own.integer("seeds", 1, static_cast<std::int64_t>(study.seeds.size()), 0));
    e.says = own.text("says", "");
    own.done();
    study.expectations.push_back(std::move(e));
  }
}

}  // namespace

Study read_study(const base::Document& document) {
  base::Fields fields(document, document.root);
  Study study;
  study.hash = base::hash_text(base::canonical_text(document.root));
  study.name = fields.text("study");
  study.note = fields.text("note", "");
  study.seeds = read_seeds(fields);
  const std::string folder = std::filesystem::path(document.file).parent_path().string();
  if (fields.has("experiments")) {
    for_each_entry(fields, "experiments", [&](base::Fields& own, const std::string& name) {
      study.experiments.push_back({name, read_experiment(own)});
    });
  }
  if (fields.has("objective") || study.experiments.empty())
    read_training(fields, folder.empty() ? "." : folder, study);
  read_expectations(fields, study);
  fields.done();
  return study;
}

Study read_study(const std::string& file) { return read_study(base::read_document(file)); }

}  // namespace paceline::sim::convergence
