// SPDX-License-Identifier: Apache-2.0
#include "sim/run_outlook.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>

#include "models/hardware/site_layout.hpp"
#include "sim/checkpoint_cost.hpp"
#include "sim/degraded.hpp"

namespace paceline::sim {
namespace {

using models::FailureEvent;
using models::FailureKind;
using models::FailureSettings;
using models::Scenario;

constexpr std::size_t kKinds = 7;

/// Nodes of the job on each site.
std::vector<std::vector<int>> nodes_by_site(const Scenario& s, int nodes) {
  std::vector<std::vector<int>> sites;
  int node = 0;
  for (const models::SiteSpec& site : s.cluster.fabric.sites) {
    if (site.nodes == 0 || node >= nodes) break;
    sites.emplace_back();
    for (int i = 0; i < site.nodes && node < nodes; ++i) sites.back().push_back(node++);
  }
  return sites;
}

/// The scenario's failures as processes of the whole job.
struct Processes {
  std::vector<FailureProcess> all{};
  std::array<int, kKinds> of_kind{-1, -1, -1, -1, -1, -1, -1};  ///< process by FailureKind
  int link_down = -1;  ///< a link that stays away longer than the job waits

  const Scenario& scenario;

  int add(FailureKind kind, double mtbf, double parts, FailureProcess p) {
    p.where = place_of(kind);
    p.traced = mtbf <= 0;
    p.mtbf = p.traced ? 0 : mtbf / std::max(parts, 1.0);
    all.push_back(std::move(p));
    return of_kind[static_cast<std::size_t>(kind)] = static_cast<int>(all.size()) - 1;
  }
  std::string place_of(FailureKind kind) const {
    const std::string_view rest = kind == FailureKind::Spot ? "" : "_mtbf";
    return where(scenario, "failures." + std::string(to_text(kind)) + std::string(rest));
  }
};

bool is_traced(const FailureSettings& f, FailureKind kind) {
  return std::any_of(f.trace.begin(), f.trace.end(),
                     [&](const FailureEvent& e) { return e.kind == kind; });
}

/// Devices, nodes and the job: what is away, if anything waits for it or goes on without.
void add_breaking(const Scenario& s, int nodes, Processes& out) {
  const FailureSettings& f = *s.failures;
  const models::RecoveryTraits& traits = f.recovery->traits;
  const auto add = [&](FailureKind kind, double mtbf, double parts, bool takes) {
    if (mtbf <= 0 && !is_traced(f, kind)) return;
    FailureProcess p{std::string(to_text(kind)), 0, f.shape, f.detect, f.restart};
    takes = takes && (traits.goes_on || traits.takes_spares || f.repair > 0 || is_traced(f, kind));
    p.takes = takes ? Takes::Node : Takes::Nothing;
    p.lasts = f.repair;
    out.add(kind, mtbf, parts, p);
  };
  add(FailureKind::Device, f.device_mtbf, models::used_devices(s), true);
  add(FailureKind::Node, f.node_mtbf, nodes, true);
  add(FailureKind::Job, f.job_mtbf, 1, false);
}

/// A flap that the job sits out, and one that lasts longer than its patience: it then counts as the
/// failure of a node, found when the patience ends.
void add_links(const Scenario& s, int nodes, Processes& out) {
  const FailureSettings& f = *s.failures;
  if (f.link_mtbf <= 0 && !is_traced(f, FailureKind::Link)) return;
  FailureProcess flap{"link", 0, f.shape, 0, 0};
  flap.strike = Strike::Wait;
  flap.lasts = f.link_flap;
  FailureProcess down{"link down", 0, f.shape, f.link_timeout, f.restart};
  down.takes = Takes::Node;
  down.lasts = f.link_flap;
  const bool patient = f.link_timeout <= 0 || f.link_flap <= f.link_timeout;
  const double links = nodes * std::max(1, s.cluster.groups.front().ports_per_node);
  out.add(FailureKind::Link, patient ? f.link_mtbf : 0, links, flap);
  if (f.link_timeout <= 0) return;
  out.link_down = static_cast<int>(out.all.size());
  down.traced = patient || f.link_mtbf <= 0;
  down.mtbf = down.traced ? 0 : f.link_mtbf / links;
  down.where = out.place_of(FailureKind::Link);
  out.all.push_back(down);
}

void add_sites(const Scenario& s, std::size_t sites, Processes& out) {
  const FailureSettings& f = *s.failures;
  if (f.site_mtbf <= 0 && !is_traced(f, FailureKind::Site)) return;
  FailureProcess p{"site", 0, f.shape, f.detect, f.restart};
  p.takes = Takes::Site;
  p.lasts = f.site_outage;
  out.add(FailureKind::Site, f.site_mtbf, static_cast<double>(sites), p);
}

void add_slow(const Scenario& s, int nodes, DegradedSteps& steps, Processes& out) {
  const FailureSettings& f = *s.failures;
  if (f.slow_mtbf <= 0 && !is_traced(f, FailureKind::Slow)) return;
  const bool noticed = f.slow_notice > 0 && f.slow_notice < f.slow_for;
  FailureProcess p{"slow", 0, f.shape, 0, 0};
  p.strike = Strike::Slow;
  p.pace = steps.with_slow_node(f.slow_factor, nodes);
  p.takes = Takes::Node;
  p.lasts = noticed ? f.slow_notice : f.slow_for;
  p.taken_out = noticed;
  p.process_after = out.all.size() + 1;
  out.add(FailureKind::Slow, f.slow_mtbf, nodes, p);
  if (!noticed) return;
  // Planned: a checkpoint comes first, however long it takes.
  FailureProcess swap{"slow node taken out", 0, 1, 0, f.restart};
  swap.takes = Takes::Node;
  swap.lasts = f.repair;
  swap.warned = true;
  swap.notice = 1e30;
  swap.traced = true;
  out.all.push_back(swap);
}

void add_spot(const Scenario& s, int nodes, Processes& out) {
  const FailureSettings& f = *s.failures;
  if (f.spot_mtbf <= 0 && !is_traced(f, FailureKind::Spot)) return;
  FailureProcess p{"spot", 0, f.shape, f.detect, f.restart};
  p.takes = Takes::Node;
  p.lasts = f.spot_back;
  p.warned = f.spot_notice > 0;
  p.notice = f.spot_notice;
  p.unpaid = true;
  out.add(FailureKind::Spot, f.spot_mtbf, nodes, p);
}

std::vector<TracedFailure> traced_failures(const Scenario& s, const Processes& processes) {
  std::vector<TracedFailure> out;
  for (const FailureEvent& e : s.failures->trace) {
    TracedFailure t{e.at, 0, e.part, e.duration};
    int process = processes.of_kind[static_cast<std::size_t>(e.kind)];
    const FailureProcess& usual = processes.all[static_cast<std::size_t>(process)];
    if (t.lasts < 0) t.lasts = usual.lasts;
    if (usual.taken_out) t.lasts = std::min(t.lasts, usual.lasts);
    if (e.kind == FailureKind::Device) t.part = s.cluster.place_of(e.part).node;
    if (e.kind == FailureKind::Link && processes.link_down >= 0 &&
        t.lasts > s.failures->link_timeout)
      process = processes.link_down;
    t.process = static_cast<std::size_t>(process);
    out.push_back(t);
  }
  return out;
}

/// What of the trace stops the job within its work: a node that is away does not fail.
int traced_stops(const RunSetting& setting) {
  std::map<int, double> away;  // until when, by node
  int stops = 0;
  for (const TracedFailure& t : setting.trace) {
    const FailureProcess& f = setting.failures[t.process];
    if (t.at >= setting.work) break;
    if (f.strike != Strike::Stop) continue;
    if (f.takes == Takes::Node && t.part >= 0) {
      double& until = away[t.part];
      if (t.part >= setting.fleet.nodes || (setting.fleet.spares == 0 && t.at < until)) continue;
      until = t.at + t.lasts;
    }
    ++stops;
  }
  return stops;
}

/// Times of independent processes that stop the job: rates add up, those of a trace over the run.
/// 0: nothing stops it.
double joint_mtbf(const RunSetting& setting) {
  double rate = 0;
  for (const FailureProcess& f : setting.failures)
    if (f.strike == Strike::Stop && !f.traced) rate += 1 / f.mtbf;
  rate += traced_stops(setting) / setting.work;
  return rate > 0 ? 1 / rate : 0;
}

bool works(const RunSpan& span) { return span.doing == Doing::Work || span.doing == Doing::Slow; }

/// Checkpoints go into the work before them, whose pace falls: between two failures there is one
/// span.
void keep_sample(const RunSample& run, RunOutlook& out) {
  out.sample_seconds = run.wall;
  double own = 1;  // pace of the last span's work
  for (RunSpan span : run.spans) {
    const bool saves = span.doing == Doing::Checkpoint;
    if (saves) span.pace = 0;
    if (!out.sample.empty()) {
      RunSpan& last = out.sample.back();
      const bool alike = last.doing == span.doing && last.cause == span.cause;
      if (works(last) && (saves || (alike && span.pace == own))) {
        const double did =
            last.pace * (last.end - last.begin) + span.pace * (span.end - span.begin);
        last.end = span.end;
        last.pace = std::min(1.0, did / (last.end - last.begin));
        continue;
      }
    }
    own = span.pace;
    out.sample.push_back(span);
  }
  out.sample_work.assign(kSampleParts, 0.0);
  const double part = out.sample_seconds / kSampleParts;
  for (const RunSpan& span : out.sample) {
    if (!works(span)) continue;
    for (int i = static_cast<int>(span.begin / part); i < kSampleParts && i * part < span.end;
         ++i) {
      const double inside = std::min(span.end, (i + 1) * part) - std::max(span.begin, i * part);
      out.sample_work[static_cast<std::size_t>(i)] += std::max(0.0, inside) * span.pace / part;
    }
  }
}

Estimate scaled(Estimate e, double factor) {
  e.value *= factor;
  if (e.low) *e.low *= factor;
  if (e.high) *e.high *= factor;
  return e;
}

void take_estimates(const RunSetting& setting, const RunEstimates& e, const Result& r,
                    RunOutlook& out) {
  out.goodput = e.goodput;
  out.run_seconds = e.wall;
  if (r.money) out.run_money = scaled(e.held, r.money->run / r.run_seconds);
  for (std::size_t i = 0; i < out.doing.size(); ++i) out.doing[i] = e.doing[i] / e.wall.value;
  for (std::size_t i = 0; i < setting.failures.size(); ++i)
    out.causes.push_back(
        {setting.failures[i].name, e.cause_counts[i], e.cause_seconds[i] / e.wall.value});
}

RunSetting setting_of(const Scenario& s, int nodes, const std::shared_ptr<DegradedSteps>& steps,
                      const Result& r) {
  const FailureSettings& f = *s.failures;
  RunSetting setting{.work = r.run_seconds, .checkpoints = {}, .failures = {}};
  setting.fleet.nodes = nodes;
  setting.fleet.sites = nodes_by_site(s, nodes);
  setting.fleet.spares = f.spares;
  setting.fleet.step = r.step_time;
  Processes processes{.scenario = s};
  add_breaking(s, nodes, processes);
  add_links(s, nodes, processes);
  add_sites(s, setting.fleet.sites.size(), processes);
  add_slow(s, nodes, *steps, processes);
  add_spot(s, nodes, processes);
  setting.trace = traced_failures(s, processes);
  setting.failures = std::move(processes.all);
  if (f.recovery->traits.goes_on)
    setting.fleet.goes_on = [steps](const std::vector<int>& lost) { return steps->without(lost); };
  return setting;
}

void note_assumptions(const Scenario& s, const RunOutlook& out, Result& r) {
  const FailureSettings& f = *s.failures;
  const models::RecoveryTraits& traits = f.recovery->traits;
  const bool sites = f.site_mtbf > 0 || is_traced(f, FailureKind::Site);
  if (f.mode == models::CheckpointMode::Memory)
    r.assumptions.push_back(
        models::used_nodes(s) == 1
            ? "failures.checkpoints.mode: memory: the host outlives what fails"
            : "failures.checkpoints.mode: memory: every node's part is in the memory of another "
              "node" +
                  std::string(sites ? " of another site" : "") +
                  " too (Gemini, SOSP 2023), and never is all of it lost at once");
  if (traits.migrates && s.parallel.pp > 1)
    r.assumptions.push_back(
        "failures.recovery " + std::string(f.recovery->name) +
        ": without a node layers are cut anew by what stages take, with embedding and head, where "
        "that is faster; a whole job's own cut may be worse, so that more of its pace is left than "
        "of its nodes");
  if (traits.depends == models::LostMatters::Replicas && s.parallel.shard > 1)
    r.assumptions.push_back("failures.recovery " + std::string(f.recovery->name) + ": " +
                            std::to_string(s.parallel.shard) +
                            " replicas share one set of shards (parallel.shard): they are dropped "
                            "together");
  if (traits.goes_on && f.edit == traits.edit)
    r.assumptions.push_back(
        "failures.recovery.edit: communicators know who is left after " +
        std::to_string(traits.edit).substr(0, 3) +
        " s (ElasWave, arXiv 2510.00606: an edit within 1 s, a partial rebuild 3.6 times that)");
  if (out.one_lost && out.one_lost->pace <= 0)
    r.warnings.push_back("without a node the job cannot go on, or no longer fits: it waits");
}

}  // namespace

void add_outlook(const Scenario& s, const models::Plan& plan, Result& r) {
  if (!s.failures) return;
  const FailureSettings& f = *s.failures;
  RunOutlook out;
  const int nodes = models::used_nodes(s);
  const auto steps = std::make_shared<DegradedSteps>(s, plan, r);
  RunSetting setting = setting_of(s, nodes, steps, r);
  out.mtbf = joint_mtbf(setting);
  setting.checkpoints = checkpoints_of(s, r, out.mtbf);
  out.checkpoint_bytes = saved_bytes(s);
  out.every = setting.checkpoints.every;
  out.blocking = setting.checkpoints.blocking;
  out.recovery = f.recovery->name;
  out.runs = f.runs;
  out.seed = f.seed;
  if (f.recovery->traits.goes_on) out.one_lost = steps->one_lost(nodes);
  take_estimates(setting, estimate_runs(setting, f.runs, f.seed), r, out);
  keep_sample(sample_run(setting, f.seed, true), out);
  note_assumptions(s, out, r);
  r.outlook = std::move(out);
}

}  // namespace paceline::sim
