// SPDX-License-Identifier: Apache-2.0
#include "base/json.hpp"

#include "reports/jobs/report.hpp"

namespace paceline::reports {
namespace {

using models::JobsStudy;
using sim::jobs::JobRun;
using sim::jobs::JobsOutcome;
using sim::jobs::JobsVerdict;

// The unit of each figure of models::kJobFigures, as its key.
constexpr std::array<std::string_view, models::kJobFigures.size()> kKeys{
    "jct_s",      "jct_median_s", "queue_s",    "run_s",   "cost_usd",
    "energy_kWh", "utilisation",  "makespan_s", "devices", "regions"};

void put_run(base::JsonWriter& json, const JobsReport& report, const JobRun& run, int unit) {
  json.begin_object().field("start_s", run.start).field("finish_s", run.finish);
  json.field("fetch_s", run.fetch).field("save_s", run.save).field("steps", run.steps);
  json.field("step_s", run.step_seconds).field("device_s", run.device_seconds);
  json.field("energy_J", run.joules).field("sent_bytes", run.sent_bytes);
  json.key("cost_usd").begin_object();
  json.field("electricity", run.cost.electricity).field("rent", run.cost.rent);
  json.field("egress", run.cost.egress).field("total", run.cost.total()).end_object();
  json.key("path").begin_array();
  for (std::size_t p = 0; p < run.path.size(); ++p) {
    json.begin_object();
    json.field("region", report.result.instance.regions[run.path[p].region].name);
    json.field("stages", run.path[p].stages).field("devices", run.path[p].stages * unit);
    if (p < run.hops.size()) {
      json.field("hop_s", run.hops[p].seconds).field("latency_s", run.hops[p].latency);
      json.field("reserved_bytes_per_s", run.reserved[p]);
    }
    json.end_object();
  }
  json.end_array().end_object();
}

void put_instance(base::JsonWriter& json, const JobsReport& report) {
  const models::JobsInstance& instance = report.result.instance;
  json.key("first_instance").begin_object().key("regions").begin_array();
  for (const models::JobRegion& region : instance.regions) {
    json.begin_object().field("name", region.name).field("devices", region.devices);
    json.field("electricity_usd_per_kWh", region.electricity);
    json.field("device_hour_usd", region.device_hour);
    json.field("uplink_bytes_per_s", region.uplink.value).end_object();
  }
  json.end_array().key("policies").begin_array();
  for (std::size_t p = 0; p < report.result.outcomes.size(); ++p) {
    const JobsOutcome& outcome = report.result.outcomes[p];
    json.begin_object().field("name", report.study.base().policies[p]);
    json.field("makespan_s", outcome.makespan).field("cost_usd", outcome.cost.total());
    json.key("regions").begin_array();
    for (const sim::jobs::RegionUse& use : outcome.regions) {
      json.begin_object().field("device_s", use.device_seconds).field("energy_J", use.joules);
      json.field("cost_usd", use.cost).end_object();
    }
    json.end_array().key("jobs").begin_array();
    for (std::size_t j = 0; j < instance.jobs.size(); ++j) {
      const models::Job& job = instance.jobs[j];
      json.begin_object().field("name", job.name);
      json.field("kind", report.study.base().kinds[job.kind].name);
      json.field("arrives_s", job.arrives).field("steps", job.steps);
      json.field("tier", job.tier).field("ends", bool(outcome.done[j])).key("runs").begin_array();
      for (const JobRun& run : outcome.runs[j])
        put_run(json, report, run, report.study.base().kinds[job.kind].unit);
      json.end_array().end_object();
    }
    json.end_array().end_object();
  }
  json.end_array().end_object();
}

void put_verdict(base::JsonWriter& json, const JobsVerdict& verdict) {
  json.key("instances").begin_array(true);
  for (const double value : verdict.values) json.value(value);
  json.end_array();
  if (verdict.values.empty()) return;
  json.field("median", verdict.spread.median).field("low", verdict.spread.low);
  json.field("high", verdict.spread.high).field("inside", verdict.inside);
}

void put_variant(base::JsonWriter& json, const JobsReport& report, std::size_t v) {
  const JobsStudy& study = report.study;
  const auto& variant = report.result.variants[v];
  json.begin_object().field("name", study.variants[v].name);
  json.field("hash", study.variants[v].file.hash).key("policies").begin_array();
  for (std::size_t p = 0; p < study.base().policies.size(); ++p) {
    json.begin_object().field("name", study.base().policies[p]);
    for (std::size_t f = 0; f < kKeys.size(); ++f) {
      json.key(kKeys[f]).begin_array(true);
      for (const auto& row : variant.figures) row[p] ? json.value((*row[p])[f]) : json.null();
      json.end_array();
    }
    json.end_object();
  }
  json.end_array().key("compared").begin_array();
  for (std::size_t c = 0; c < study.compare.size(); ++c) {
    json.begin_object().field("name", study.compare[c].name).field("that", study.compare[c].text);
    if (study.compare[c].low) {
      json.key("published").begin_array(true).value(*study.compare[c].low);
      json.value(*study.compare[c].high).end_array();
    }
    if (study.compare[c].published) json.field("published", *study.compare[c].published);
    put_verdict(json, report.result.compared[v][c]);
    json.end_object();
  }
  json.end_array().end_object();
}

}  // namespace

std::string jobs_json(const JobsReport& report) {
  const JobsStudy& study = report.study;
  base::JsonWriter json;
  json.begin_object().field("schema", "paceline-jobs-1").field("version", report.version);
  json.field("command", report.command).field("name", study.base().name);
  json.field("hash", study.base().hash).field("seed", study.base().random.seed);
  json.key("assumptions").begin_array();
  for (const std::string& assumption : jobs_assumptions(report)) json.value(assumption);
  json.end_array().key("variants").begin_array();
  for (std::size_t v = 0; v < study.variants.size(); ++v) put_variant(json, report, v);
  json.end_array().key("expected").begin_array();
  for (std::size_t e = 0; e < study.expect.size(); ++e) {
    const models::JobsExpectation& one = study.expect[e];
    json.begin_object().field("that", one.text).field("variant", one.variant);
    if (one.least) json.field("least", *one.least);
    if (one.most) json.field("most", *one.most);
    json.field("holds", report.result.expected[e].holds);
    put_verdict(json, report.result.expected[e]);
    json.end_object();
  }
  json.end_array();
  put_instance(json, report);
  return json.end_object().finish();
}

std::string jobs_csv(const JobsReport& report) {
  const JobsStudy& study = report.study;
  std::string text = "variant,instance,policy";
  for (const std::string_view key : kKeys) text += "," + std::string(key);
  text += "\n";
  const auto quoted = [](const std::string& name) {
    std::string out = "\"";
    for (const char c : name) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    return out + "\"";
  };
  for (std::size_t v = 0; v < study.variants.size(); ++v) {
    const auto& rows = report.result.variants[v].figures;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t p = 0; p < rows[i].size(); ++p) {
        text += quoted(study.variants[v].name) + "," + std::to_string(i) + "," +
                study.base().policies[p];
        for (std::size_t f = 0; f < kKeys.size(); ++f)
          text += "," + (rows[i][p] ? base::shortest((*rows[i][p])[f]) : std::string());
        text += "\n";
      }
    }
  }
  return text;
}

}  // namespace paceline::reports
