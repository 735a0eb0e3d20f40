// SPDX-License-Identifier: Apache-2.0
#include "sim/predict.hpp"

#include <algorithm>

#include "models/hardware/fabric.hpp"
#include "sim/engine/reference.hpp"
#include "sim/engine/simgrid.hpp"
#include "sim/lower/lower.hpp"
#include "sim/lower/stage_times.hpp"
#include "sim/lower/stage_work.hpp"
#include "sim/measure.hpp"
#include "sim/measure_network.hpp"
#include "sim/offload.hpp"
#include "sim/program_file.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/steady.hpp"
#include "sim/verify.hpp"

namespace paceline::sim {
namespace {

constexpr std::array<std::string_view, kStreams> kStreamNames{
    "compute", "tp", "cp", "ep", "pp down", "pp up", "dp", "copy in", "copy out", "host", "none"};
constexpr std::array<std::string_view, kParts> kPartNames{
    "compute",    "optimizer",  "codec",   "exposed_tp", "exposed_cp", "exposed_ep",
    "exposed_pp", "exposed_dp", "offload", "host",       "straggler",  "bubble"};
constexpr std::array<std::string_view, kMemoryParts> kMemoryNames{
    "parameters",      "gradients", "optimizer", "activations", "logits",
    "weight_versions", "buffers",   "workspace", "runtime"};

/// A file made for another scenario: what would have to change here.
void check_sizes(const Program& program, const models::Scenario& scenario, int microbatches) {
  const int ranks = static_cast<int>(program.order.size()), pp = scenario.parallel.pp;
  const auto fail = [&](const std::string& problem, const std::string& hint) {
    throw base::Error(models::where(scenario, "schedule.file"),
                      scenario.schedule.file + " " + problem, hint);
  };
  const auto count = [](int n, const std::string& what, const char* plural = "s") {
    return std::to_string(n) + " " + what + (n == 1 ? "" : plural);
  };
  if (ranks != pp)
    fail("has " + count(ranks, "rank") + ", parallel.pp is " + std::to_string(pp),
         "set parallel.pp to " + std::to_string(ranks) + ", or give the file " + count(pp, "rank"));
  const int stages = pp * scenario.schedule.chunks;
  if (program.stages != stages) {
    const bool whole = program.stages % pp == 0;
    fail("has " + count(program.stages, "stage") + ", " + count(pp, "rank") + " with " +
             count(scenario.schedule.chunks, "chunk") + " each have " + std::to_string(stages),
         whole ? "set schedule.chunks to " + std::to_string(program.stages / pp)
               : "a file for " + count(pp, "rank") + " has a multiple of " + std::to_string(pp) +
                     " stages");
  }
  if (program.microbatches == microbatches) return;
  const std::int64_t per_microbatch =
      scenario.batch.micro * static_cast<std::int64_t>(scenario.parallel.dp);
  fail("has " + count(program.microbatches, "microbatch", "es") + ", the batch " +
           std::to_string(microbatches),
       "set batch.global to " + std::to_string(program.microbatches * per_microbatch));
}

Program read_program(const models::Scenario& scenario, const models::Plan& plan,
                     std::vector<std::string>* notes) {
  ProgramFile file = parse_program_file(scenario.schedule.file_text, scenario.schedule.file);
  check_sizes(file.program, scenario, plan.microbatches);
  verify(file.program, &file.places);
  if (notes != nullptr && file.passed_over > 0)
    notes->push_back(scenario.schedule.file + ": " + std::to_string(file.passed_over) +
                     " actions that send, receive, gather or scatter are passed over: they follow "
                     "from the order and the scenario");
  return std::move(file.program);
}

bool flushes(const models::Scenario& scenario) {
  const models::ScheduleTraits* traits = models::schedule_traits(scenario.schedule.name);
  return !scenario.schedule.file.empty() || traits == nullptr || !traits->asynchronous;
}

}  // namespace

Program make_program(const models::Scenario& scenario, const models::Plan& plan,
                     std::vector<std::string>* notes) {
  if (!scenario.schedule.file.empty()) {
    Program program = read_program(scenario, plan, notes);
    if (scenario.offload.share > 0) add_offload(program, scenario.offload.share);
    return program;
  }
  const std::string where = models::where(scenario, "schedule.name");
  const Schedule& schedule = find_schedule(scenario.schedule.name, where);
  try {
    PipelineShape shape{scenario.parallel.pp, scenario.schedule.chunks, plan.microbatches};
    shape.options = scenario.schedule.options;
    if (!flushes(scenario)) {  // a piece of an endless run, long enough to repeat
      const int window = std::max(shape.options.update_every, shape.ranks);
      shape.microbatches = steady_microbatches(shape.ranks, shape.microbatches, window);
    }
    if (schedule.uses_times) shape.times = stage_times(scenario, plan);
    Program program = schedule.build(shape);
    if (scenario.offload.share > 0) add_offload(program, scenario.offload.share);
    return program;
  } catch (const base::Error& error) {
    throw base::Error(where, error.what());
  }
}

Prediction predict(const models::Scenario& scenario, const PredictOptions& options) {
  Prediction p;
  p.plan = models::make_plan(scenario);
  std::vector<std::string> notes;
  p.program = make_program(scenario, p.plan, &notes);
  const bool simgrid = options.engine == Engine::Simgrid;
  const bool shared = simgrid && options.fidelity != Fidelity::AlphaBeta;
  p.graph = lower(
      scenario, p.plan, p.program,
      {.inner = options.inner, .network = shared, .chunks = options.fidelity == Fidelity::Chunk});
  const EngineOptions engine{scenario.schedule.dispatch};
  p.timeline = simgrid ? run_simgrid(p.graph, engine) : run_reference(p.graph, engine);
  const auto steady = [&](const Timeline& timeline) {
    return flushes(scenario) ? std::optional<SteadyState>()
                             : steady_state(p.program, p.graph, timeline, p.plan.microbatches);
  };
  const WorkNeeds needs = work_needs(p.program);
  p.result = measure(scenario, p.graph, p.timeline, steady(p.timeline), needs.forward_only);
  if (needs.host_inputs) {
    p.result.warnings.push_back(
        "stages that go round the ranks are counted as copies on every rank, in memory and in the "
        "traffic of gradients: weights in host memory are not modelled");
  }
  for (std::string& note : notes) p.result.warnings.push_back(std::move(note));
  for (std::string& warning : models::unclaimed_groups(p.plan, scenario))
    p.result.warnings.push_back(std::move(warning));
  for (std::string& warning : models::fallen_back_groups(p.plan, scenario))
    p.result.warnings.push_back(std::move(warning));
  for (std::string& warning : models::ignored_by_engine(scenario.cluster, shared))
    p.result.warnings.push_back(std::move(warning));
  if (shared) {
    const Timeline unshared = run_reference(p.graph, engine);
    const std::optional<SteadyState> repeats = steady(unshared);
    const double alone = repeats ? repeats->period() : unshared.makespan;
    p.result.network = measure_network(p.graph, p.timeline, alone);
    // Asked for and not done: more than an assumption.
    for (const std::string& a : p.graph.network.assumptions) p.result.warnings.push_back(a);
  }
  if (has_updates(p.program)) p.result.staleness = staleness(p.program);
  if (simgrid) p.result.fidelity = kFidelities[static_cast<std::size_t>(options.fidelity)].name;
  p.result.engine = kEngines[static_cast<std::size_t>(options.engine)].name;
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
