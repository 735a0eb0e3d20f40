// SPDX-License-Identifier: Apache-2.0
#include "sim/convergence/pipeline_events.hpp"

#include <algorithm>
#include <tuple>

#include "sim/engine/reference.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/staleness.hpp"

namespace paceline::sim::convergence {
namespace {

using When = PipelineEvent::Kind;

std::vector<std::vector<double>> starts_of(const Program& program, const TaskGraph& graph,
                                           const Timeline& timeline) {
  std::vector<std::vector<double>> starts;
  for (const auto& order : program.order) starts.emplace_back(order.size(), 0.0);
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind == TaskKind::Action) starts.at(task.lane).at(task.origin) = timeline.start[t];
  }
  return starts;
}

void add_rank(const Program& program, const std::vector<Action>& order,
              const std::vector<double>& starts, double end, std::vector<PipelineEvent>& events) {
  double last_backward = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Action& a = order[i];
    const Pass& pass = program.passes[a.pass];
    PipelineEvent event{starts[i], a.stage, a.microbatch, When::Forward};
    if (pass.direction == Direction::Up) {
      event.kind = When::Backward;
      last_backward = starts[i];
    } else if (pass.direction == Direction::None) {
      event.kind = When::Update;
      event.start = last_backward;
    }
    if (event.start + 1 > end) return;
    events.push_back(event);
  }
}

}  // namespace

PipelineEvents pipeline_events(const std::string& schedule, int stages, int microbatches,
                               int update_every, std::int64_t slots) {
  PipelineShape shape;
  shape.ranks = stages;
  shape.microbatches = microbatches;
  shape.options.update_every = update_every;
  const Program program = find_schedule(schedule, "schedule").build(shape);
  const base::Seconds slot(1);
  const TaskGraph graph = timed(program, uniform_times(stages, {slot, slot, base::Seconds(0), {}}));
  const Timeline timeline = run_reference(graph);
  PipelineEvents result;
  result.weights = program.weights;
  result.stages = stages;
  const auto starts = starts_of(program, graph, timeline);
  const double end = slots > 0 ? static_cast<double>(slots) : timeline.makespan;
  for (std::size_t rank = 0; rank < program.order.size(); ++rank)
    add_rank(program, program.order[rank], starts[rank], end + 1e-9, result.events);
  std::stable_sort(result.events.begin(), result.events.end(),
                   [](const PipelineEvent& a, const PipelineEvent& b) {
                     return std::tie(a.start, a.stage) < std::tie(b.start, b.stage);
                   });
  const Staleness late = staleness(program);
  result.max_delay = late.max;
  result.max_mismatch = late.mismatch;
  return result;
}

}  // namespace paceline::sim::convergence
