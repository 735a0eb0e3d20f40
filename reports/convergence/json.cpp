// SPDX-License-Identifier: Apache-2.0
#include "base/json.hpp"

#include <cmath>

#include "reports/convergence/report.hpp"

namespace paceline::reports {
namespace {

using namespace sim::convergence;

/// null for what is not finite.
void put(base::JsonWriter& json, double value) {
  if (std::isfinite(value)) {
    json.value(value);
  } else {
    json.null();
  }
}
void put_spread(base::JsonWriter& json, const char* key, const Spread& s) {
  json.key(key).begin_object();
  put(json.key("median"), s.median);
  put(json.key("low"), s.low);
  put(json.key("high"), s.high);
  json.end_object();
}
void put_figures(base::JsonWriter& json, const Figures& figures) {
  json.begin_object();
  for (const auto& [name, value] : figures) put(json.key(name), value);
  json.end_object();
}

template <class Get>
void put_column(base::JsonWriter& json, const char* key, const Run& run, const Get& get) {
  json.key(key).begin_array(true);
  for (const CurvePoint& point : run.curve) put(json, get(point));
  json.end_array();
}

void put_run(base::JsonWriter& json, std::uint64_t seed, const Clock& clock, const Run& run) {
  json.begin_object().field("seed", seed);
  put(json.key("loss"), final_loss(run));
  json.key("diverged_at");
  if (run.diverged) {
    json.value(*run.diverged);
  } else {
    json.null();
  }
  put_figures(json.key("figures"), run.extra);
  json.key("curve").begin_object();
  put_column(json, "step", run, [](const CurvePoint& p) { return p.step; });
  put_column(json, "loss", run, [](const CurvePoint& p) { return p.loss; });
  if (run.curve.back().bytes > 0)
    put_column(json, "bytes", run,
               [&](const CurvePoint& p) { return p.bytes * clock.bytes_scale; });
  if (clock.step_seconds > 0) {
    const auto seconds = [&](const CurvePoint& p) { return seconds_at(clock, run, p); };
    put_column(json, "seconds", run, seconds);
    if (clock.price_per_second > 0)
      put_column(json, "money", run,
                 [&](const CurvePoint& p) { return seconds(p) * clock.price_per_second; });
  }
  json.end_object().end_object();
}

void put_cell(base::JsonWriter& json, const ConvergenceReport& report, std::size_t c) {
  const Study& study = report.study;
  const Cell& cell = study.cells[c];
  const CellResult& result = report.result.cells[c];
  json.begin_object().field("name", cell.name);
  json.field("objective", study.objectives[cell.objective].name);
  json.field("method", study.methods[cell.method].name);
  json.field("optimizer", study.optimizers[cell.optimizer].name);
  json.field("steps", cell.training.steps).field("batch", cell.training.batch);
  json.field("rate", result.rate).field("rate_at_edge", result.at_edge);
  json.key("tried").begin_array(true);
  for (std::size_t r = 0; r < result.tried.size(); ++r) {
    json.begin_object().field("rate", cell.rates[r]);
    put(json.key("median"), result.tried[r]);
    json.end_object();
  }
  json.end_array();
  if (!result.runs.empty()) {
    std::vector<double> losses;
    for (const Run& run : result.runs) losses.push_back(final_loss(run));
    put_spread(json, "loss", spread_of(losses));
  }
  json.key("runs").begin_array();
  for (std::size_t i = 0; i < result.runs.size(); ++i)
    put_run(json, study.seeds[result.seeds[i]], study.clocks[cell.method], result.runs[i]);
  json.end_array().end_object();
}

void put_expectation(base::JsonWriter& json, const Expectation& e, const ExpectationResult& r) {
  json.begin_object().field("that", e.that.text);
  if (e.least) json.field("least", *e.least);
  if (e.most) json.field("most", *e.most);
  if (e.seeds > 0) json.field("seeds", e.seeds);
  if (!e.says.empty()) json.field("says", e.says);
  if (r.evaluated) put_spread(json, "value", r.spread);
  json.key("by_seed").begin_array(true);
  for (const double value : r.values) put(json, value);
  json.end_array().field("held", r.held).field("holds", r.holds).end_object();
}

}  // namespace

std::string convergence_json(const ConvergenceReport& report) {
  const Study& study = report.study;
  base::JsonWriter json;
  json.begin_object().field("schema", "paceline-converge-1").field("version", report.version);
  json.field("command", report.command).field("study", study.name).field("hash", study.hash);
  json.field("interrupted", report.result.interrupted);
  json.key("seeds").begin_array(true);
  for (const std::uint64_t seed : study.seeds) json.value(seed);
  json.end_array().key("cells").begin_array();
  for (std::size_t c = 0; c < study.cells.size(); ++c) put_cell(json, report, c);
  json.end_array().key("experiments").begin_array();
  for (std::size_t e = 0; e < study.experiments.size(); ++e) {
    json.begin_object().field("name", study.experiments[e].name).key("runs").begin_array();
    for (std::size_t s = 0; s < study.seeds.size(); ++s) {
      if (report.result.experiments[e][s].empty()) continue;
      json.begin_object().field("seed", study.seeds[s]);
      put_figures(json.key("figures"), report.result.experiments[e][s]);
      json.end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().key("expectations").begin_array();
  for (std::size_t i = 0; i < study.expectations.size(); ++i)
    put_expectation(json, study.expectations[i], report.result.expectations[i]);
  return json.end_array().end_object().finish();
}

}  // namespace paceline::reports
