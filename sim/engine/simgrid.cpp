// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/simgrid.hpp"

#include <sys/mman.h>

#include <memory>
#include <span>

#include "base/child_process.hpp"
#include "base/error.hpp"
#include "base/module.hpp"
#include "sim/engine/flow_rules.hpp"
#include "sim/engine/graph_order.hpp"
#include "sim/engine/simgrid_module.hpp"

namespace paceline::sim {
namespace {

struct Module {
  SimgridRun run = nullptr;
  std::string why;
};

Module load() {
  Module module;
  module.run = reinterpret_cast<SimgridRun>(
      base::load_module(kSimgridModule, kSimgridSymbol, "SimGrid", module.why));
  return module;
}

const Module& module() {
  static const Module loaded = load();
  return loaded;
}

/// Anonymous memory that a forked process shares.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t bytes) : bytes_(bytes) {
    data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (data_ == MAP_FAILED) throw base::Error("simgrid", "no memory for the result");
  }
  ~SharedMemory() { munmap(data_, bytes_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_;
  std::size_t bytes_;
};

}  // namespace

bool simgrid_available(std::string* why) {
  if (why != nullptr) *why = module().why;
  return module().run != nullptr;
}

void require_simgrid() {
  if (module().run != nullptr) return;
  throw base::MissingError("the simgrid engine is not available: " + module().why +
                           "; install libsimgrid-dev and build again, or use --engine reference");
}

Timeline run_simgrid(const TaskGraph& graph, const EngineOptions& options) {
  require_simgrid();
  inspect(graph);
  inspect_network(graph);
  const std::size_t n = graph.tasks.size();
  const SharedMemory memory(sizeof(SimgridOutcome) + 2 * n * sizeof(double));
  auto* outcome = new (memory.data()) SimgridOutcome;
  auto* times = reinterpret_cast<double*>(memory.data() + sizeof(SimgridOutcome));
  base::ChildProcess child([&](int) { module().run(graph, options, times, times + n, *outcome); });
  const base::ChildEnd end = child.wait();
  using State = SimgridOutcome::State;
  if (!end.well()) throw EngineFailure("simgrid", "the engine ended by " + base::to_text(end));
  if (outcome->state == State::Failed) throw EngineFailure("simgrid", outcome->message);
  if (outcome->state == State::Waiting) {
    Workspace workspace;
    workspace.timeline.start.resize(n);
    const std::size_t named = std::min(outcome->running, SimgridOutcome::kStuck);
    fail_waiting(graph, workspace, std::span(outcome->stuck, named),
                 options.dispatch == models::Dispatch::Fixed);
  }
  PACELINE_CHECK(outcome->state == State::Done);
  Timeline timeline;
  timeline.start.assign(times, times + n);
  timeline.finish.assign(times + n, times + 2 * n);
  timeline.makespan = outcome->makespan;
  return timeline;
}

}  // namespace paceline::sim
