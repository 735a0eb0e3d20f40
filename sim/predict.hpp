// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/parallel/plan.hpp"
#include "models/scenario/scenario.hpp"
#include "sim/engine/reference.hpp"
#include "sim/program.hpp"
#include "sim/result.hpp"
#include "sim/task_graph.hpp"

namespace paceline::sim {

/// The straight line, every waist kept for reports: Scenario -> Plan -> Program -> TaskGraph ->
/// Timeline -> Result.
struct Prediction {
  models::Plan plan;
  Program program;
  TaskGraph graph;
  Timeline timeline;
  Result result;
};

/// The schedule of the scenario over its stages; a schedule from a file is verified and must have
/// the scenario's ranks, stages and microbatches. `notes` receives what of it was passed over.
Program make_program(const models::Scenario& scenario, const models::Plan& plan,
                     std::vector<std::string>* notes = nullptr);

/// Whether make_program gives several steps of an endless run, of which one is measured in the
/// middle: the schedule never flushes, or no norm barrier ends the step.
bool repeats(const models::Scenario& scenario);

/// As the scenario's `schedule.dispatch` says.
EngineOptions engine_options(const models::Scenario& scenario);

/// Who finds out when everything happens: without shared links, or with SimGrid sharing them.
enum class Engine { Reference, Simgrid };
struct EngineEntry {
  std::string_view name;
  Engine engine;
};
inline constexpr std::array<EngineEntry, 2> kEngines{
    {{"reference", Engine::Reference}, {"simgrid", Engine::Simgrid}}};

/// How closely the simgrid engine looks at transfers: data-parallel rings message by message, every
/// transfer as a fluid flow over shared links, or each alone in its closed-form time. The reference
/// engine knows only the last.
enum class Fidelity { Chunk, Fluid, AlphaBeta };
struct FidelityEntry {
  std::string_view name;
  Fidelity fidelity;
};
inline constexpr std::array<FidelityEntry, 3> kFidelities{
    {{"chunk", Fidelity::Chunk}, {"fluid", Fidelity::Fluid}, {"alpha-beta", Fidelity::AlphaBeta}}};

/// What an engine does unless told otherwise.
constexpr Fidelity default_fidelity(Engine engine) {
  return engine == Engine::Simgrid ? Fidelity::Fluid : Fidelity::AlphaBeta;
}

struct PredictOptions {
  Engine engine = Engine::Reference;
  Fidelity fidelity = default_fidelity(Engine::Simgrid);  ///< of Engine::Simgrid
  int threads = 0;      ///< for the repetitions of `jitter`; 0: one per processor
  bool energy = false;  ///< also integrate power
  bool inner = false;   ///< also say when the collectives inside actions run (Segment::inner)
  /// One lane per rank, and every kernel a task (LowerOptions::kernels): the graph that the
  /// hardware runs. The reference engine only.
  bool kernels = false;
  /// By pipeline rank: its passes take this many times as long (work of others it has taken over,
  /// or a slow node). Empty: none does.
  std::vector<double> load = {};
  std::function<void(std::size_t count)> repetitions_begun = {};  ///< of `jitter`, for progress
};

/// Throws base::Error for anything the scenario asks that does not exist or divide.
Prediction predict(const models::Scenario& scenario, const PredictOptions& options = {});

/// What a task is, derived: "F3.12" style action text, "send 3->4 mb 12", "reduce_scatter dp chunk
/// 1".
std::string task_label(const Prediction& prediction, TaskId task);
std::string_view to_text(Stream stream);
std::string_view to_text(Part part);
std::string_view to_text(MemoryPart part);

}  // namespace paceline::sim
