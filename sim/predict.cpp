// SPDX-License-Identifier: Apache-2.0
#include "sim/predict.hpp"

#include <algorithm>

#include "models/hardware/fabric.hpp"
#include "models/workload/layer_ops.hpp"
#include "sim/choose_memory.hpp"
#include "sim/documents.hpp"
#include "sim/energy.hpp"
#include "sim/engine/graph_order.hpp"
#include "sim/engine/reference.hpp"
#include "sim/engine/simgrid.hpp"
#include "sim/foreign.hpp"
#include "sim/jitter.hpp"
#include "sim/lower/lower.hpp"
#include "sim/lower/stage_work.hpp"
#include "sim/measure.hpp"
#include "sim/measure_network.hpp"
#include "sim/money.hpp"
#include "sim/outer/add_outer.hpp"
#include "sim/phases.hpp"
#include "sim/power_limit.hpp"
#include "sim/run_outlook.hpp"
#include "sim/samples.hpp"
#include "sim/steady.hpp"

namespace paceline::sim {
namespace {

constexpr std::array<std::string_view, kStreams> kStreamNames{
    "compute", "tp",      "cp",       "ep",   "pp down",  "pp up", "pp all",
    "dp",      "copy in", "copy out", "host", "cp outer", "none"};
constexpr std::array<std::string_view, kParts> kPartNames{
    "compute",    "optimizer",  "codec",   "exposed_tp", "exposed_cp", "exposed_ep",
    "exposed_pp", "exposed_dp", "offload", "host",       "straggler",  "bubble"};
constexpr std::array<std::string_view, kMemoryParts> kMemoryNames{
    "parameters",      "gradients", "optimizer", "activations", "logits",
    "weight_versions", "buffers",   "workspace", "runtime"};

void put_load(const std::vector<double>& load, std::size_t ranks, TaskGraph& graph) {
  if (load.empty()) return;
  PACELINE_CHECK(load.size() == ranks);
  for (Task& task : graph.tasks)
    if (task.kind == TaskKind::Action || task.kind == TaskKind::Kernel)
      task.seconds *= load[task.lane % ranks];
}

/// When the peaks of memory are, after a new run in which actions may start later by rounding.
void note_peaks(Prediction& p) {
  const std::vector<MemoryPeak> peaks = replay_memory(p.graph, p.timeline);
  for (std::size_t i = 0; i < peaks.size(); ++i)
    p.result.memory[i].at_seconds = peaks[i].at_seconds;
}

/// The distribution over sampled steps, whose mean is the answer.
void sample_documents(const models::Scenario& s, const PredictOptions& options,
                      const EngineOptions& engine, Prediction& p) {
  StepTime period;
  if (repeats(s)) {
    period = [&](const TaskGraph& graph, const Timeline& timeline) {
      return steady_state(p.program, graph, timeline, p.plan.microbatches).period();
    };
  }
  const std::vector<double> times = packed_step_times(s, p.plan, p.program, p.graph, engine, period,
                                                      options.threads, options.repetitions_begun);
  p.result.distribution = distribution_of(times, s.batch.documents->seed);
  take_distribution(*p.result.distribution, p.result);
  const DocumentShares shares =
      document_shares(s, models::mask_of(s.model.kinds.front().attention));
  p.result.assumptions.push_back("documents fill " + base::format_fixed(100 * shares.tokens, 1) +
                                 " % of the windows and have " +
                                 base::format_fixed(100 * shares.area, 1) +
                                 " % of the attention of one document a window");
}

/// What has to be said of the groups of every mesh.
void note_groups(Prediction& p, const models::Scenario& scenario) {
  std::vector<std::string> found;
  const auto look = [&](const models::Plan& plan, const models::Scenario& s) {
    for (std::string& warning : models::unclaimed_groups(plan, s))
      found.push_back(std::move(warning));
    for (std::string& warning : models::fallen_back_groups(plan, s))
      found.push_back(std::move(warning));
  };
  if (p.plan.modules.empty()) look(p.plan, scenario);
  for (std::size_t i = 0; i < p.plan.modules.size(); ++i)
    look(p.plan.modules[i], *scenario.modules[i].view);
  for (std::string& warning : found) {
    std::vector<std::string>& said = p.result.warnings;
    if (std::find(said.begin(), said.end(), warning) == said.end())
      said.push_back(std::move(warning));
  }
}

}  // namespace

namespace {

/// Of the step as it is told: with samples less work than the timeline's, with documents and
/// workers that exchange time in which all wait.
void add_energy(const models::Scenario& scenario, Prediction& p,
                const std::optional<SteadyState>& steady, EnergySpan span) {
  std::optional<OuterResult>& outer = p.result.outer;
  if (outer) {
    span.work *= outer->utilisation * outer->step_seconds / span.seconds;
    span.seconds = outer->step_seconds;
  }
  p.result.energy = energy_of(scenario, p.graph, p.timeline, steady, span);
  if (!outer || !p.result.energy) return;
  span.seconds = outer->data_parallel_step_seconds;
  outer->data_parallel_joules = energy_of(scenario, p.graph, p.timeline, steady, span)->step.middle;
}

/// Who looks into the order of dependencies needs steps that are added one after another.
void require_ordered(const models::Scenario& scenario, const TaskGraph& graph, const char* key) {
  if (!inspect(graph).ordered)
    throw base::Error(models::where(scenario, key),
                      "steps without a norm barrier overlap in this schedule, and times that vary "
                      "are not combined with that",
                      "optimizer.norm_barrier: true, or another schedule");
}

}  // namespace

EngineOptions engine_options(const models::Scenario& scenario) {
  const models::DispatchOptions& dispatch = scenario.schedule.dispatch;
  EngineOptions options;
  options.dispatch = dispatch.policy;
  options.buffers = dispatch.buffers;
  if (scenario.parallel.tp > 1) options.coordination = dispatch.coordination.value;
  return options;
}

Prediction predict(const models::Scenario& scenario, const PredictOptions& options) {
  if (scenario.choose_recompute || scenario.choose_offload)
    return predict(choose_memory(scenario), options);
  if (scenario.power && scenario.power->cap) return predict(under_power_cap(scenario), options);
  if (scenario.power && scenario.power->slack &&
      (options.engine != Engine::Reference || repeats(scenario)))
    throw base::Error(models::where(scenario, "power"),
                      "slack is known of single steps on the reference engine",
                      "a schedule that flushes, and --engine reference; or leave slack out");
  if (scenario.jitter && options.engine != Engine::Reference) {
    throw base::Error(models::where(scenario, "jitter"),
                      "only the reference engine repeats steps with jitter",
                      "use --engine reference, or leave jitter out (--set jitter=)");
  }
  if (scenario.batch.documents && options.engine != Engine::Reference) {
    throw base::Error(models::where(scenario, "batch.documents"),
                      "only the reference engine samples documents", "use --engine reference");
  }
  if (scenario.batch.samples && options.engine != Engine::Reference) {
    throw base::Error(models::where(scenario, "batch.samples"),
                      "only the reference engine samples lengths", "use --engine reference");
  }
  if (!scenario.compression.empty() && options.engine != Engine::Reference) {
    throw base::Error(models::where(scenario, "compression"),
                      "only the reference engine times codecs",
                      "use --engine reference, or leave compression out (--set compression=)");
  }
  if (has_phases(scenario)) return predict_phases(scenario, options);
  Prediction p;
  p.plan = models::make_plan(scenario);
  std::vector<std::string> notes;
  p.program = make_program(scenario, p.plan, &notes);
  if (scenario.batch.documents && p.program.slices > 1) {
    throw base::Error(models::where(scenario, "batch.documents"),
                      "slices of a sequence and documents in it are not combined",
                      "a schedule without slices, or packing: chunks in smaller windows");
  }
  const bool simgrid = options.engine == Engine::Simgrid;
  const bool shared = simgrid && options.fidelity != Fidelity::AlphaBeta;
  const EngineOptions engine = engine_options(scenario);
  const auto run = [&] {
    p.graph = lower(scenario, p.plan, p.program,
                    {.unfold = options.kernels,
                     .inner = options.inner,
                     .network = shared,
                     .chunks = options.fidelity == Fidelity::Chunk,
                     .kernels = options.kernels});
    put_load(options.load, p.program.order.size(), p.graph);
    p.timeline = simgrid ? run_simgrid(p.graph, engine) : run_reference(p.graph, engine);
  };
  run();
  const auto steady = [&](const Timeline& timeline) {
    return !repeats(scenario) ? std::optional<SteadyState>()
                              : steady_state(p.program, p.graph, timeline, p.plan.microbatches);
  };
  p.result = measure(scenario, p.graph, p.timeline, steady(p.timeline),
                     work_needs(p.program, scenario.batch.sequence).forward_only);
  if (p.program.pooled) {
    p.result.assumptions.push_back(
        "the optimizer runs on the hosts beside the next step and takes no time of the devices");
  }
  for (std::string& note : notes) p.result.warnings.push_back(std::move(note));
  note_groups(p, scenario);
  for (std::string& warning : models::ignored_by_engine(scenario.cluster, shared))
    p.result.warnings.push_back(std::move(warning));
  if (shared) {
    const Timeline unshared = run_reference(p.graph, engine);
    const std::optional<SteadyState> of_alone = steady(unshared);
    const double alone = of_alone ? of_alone->period() : unshared.makespan;
    p.result.network = measure_network(p.graph, p.timeline, alone);
    // Asked for and not done: more than an assumption.
    for (const std::string& a : p.graph.network.assumptions) p.result.warnings.push_back(a);
  }
  if (has_updates(p.program)) p.result.staleness = staleness(p.program);
  if (simgrid) p.result.fidelity = kFidelities[static_cast<std::size_t>(options.fidelity)].name;
  if (scenario.foreign.pieces > 0) {
    p.result.foreign = add_foreign(scenario, p);
    run();
    note_peaks(p);
  }
  if (scenario.jitter) {
    require_ordered(scenario, p.graph, "jitter");
    StepTime period;
    if (repeats(scenario)) {
      period = [&](const TaskGraph& graph, const Timeline& timeline) {
        return steady_state(p.program, graph, timeline, p.plan.microbatches).period();
      };
    }
    p.result.distribution =
        distribution_of(jittered_step_times(scenario, p.plan, p.graph, engine, period,
                                            options.threads, options.repetitions_begun),
                        scenario.jitter->seed);
  }
  const double flops = p.result.model_flops;
  if (scenario.batch.documents) require_ordered(scenario, p.graph, "batch.documents");
  if (scenario.batch.documents) sample_documents(scenario, options, engine, p);
  if (scenario.batch.samples) take_samples(scenario, p);
  p.result.engine = kEngines[static_cast<std::size_t>(options.engine)].name;
  if (scenario.outer) add_outer(scenario, p);
  if (options.energy) {
    EnergySpan span{p.result.step_time, flops > 0 ? p.result.model_flops / flops : 1};
    add_energy(scenario, p, steady(p.timeline), span);
    if (p.result.energy && scenario.power && scenario.power->slack)
      take_slack(slack_clocks(scenario, p.graph, engine), p.result.step_time, *p.result.energy);
  }
  add_money(scenario, p.result);
  add_outlook(scenario, p.plan, p.result);
  return p;
}

std::string task_label(const Prediction& p, TaskId t) {
  const Task& task = p.graph.tasks[t];
  const std::string& segment = p.graph.segments[task.segment].name;
  const std::size_t rank = p.program.order.empty() ? 0 : task.lane % p.program.order.size();
  if (task.kind == TaskKind::Collective || task.kind == TaskKind::Optimizer ||
      task.kind == TaskKind::Host) {
    return segment;
  }
  if (rank >= p.program.order.size() || task.origin >= p.program.order[rank].size()) return segment;
  const Action& a = p.program.order[rank][task.origin];
  const std::string action =
      std::to_string(a.stage) + p.program.passes[a.pass].name + std::to_string(a.microbatch);
  if (task.kind == TaskKind::Action) return action;
  return segment + " " + action;
}

std::string_view to_text(Stream stream) { return kStreamNames[static_cast<std::size_t>(stream)]; }
std::string_view to_text(Part part) { return kPartNames[static_cast<std::size_t>(part)]; }
std::string_view to_text(MemoryPart part) { return kMemoryNames[static_cast<std::size_t>(part)]; }

}  // namespace paceline::sim
