// SPDX-License-Identifier: Apache-2.0
#include "sim/updates.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"
#include "sim/staleness.hpp"
#include "sim/verify.hpp"

using namespace paceline;
using namespace paceline::sim;
using base::Seconds;

namespace {

/// Updates of 1 s, norms of 0.1 s and stages of 1 + 1 + 1 s.
StageTimes times_of(const Program& program) {
  StageTimes times = uniform_times(program.stages, {Seconds(1), Seconds(1), Seconds(1), {}});
  times.others = {{"U", {{Seconds(1)}}}, {"N", {{Seconds(0.1)}}}};
  return times;
}

/// By rank: when its first update starts, and when its last other action ends.
struct Step {
  std::vector<double> update, work;
};
Step step_of(const Program& program) {
  const TaskGraph graph = timed(program, times_of(program));
  const Timeline timeline = run_reference(graph);
  Step step{std::vector<double>(program.order.size(), 1e9),
            std::vector<double>(program.order.size(), 0)};
  for (TaskId t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    if (task.kind != TaskKind::Action) continue;
    const Action& action = program.order[task.lane][task.origin];
    const std::string& pass = program.passes[action.pass].name;
    if (pass == "U") {
      step.update[task.lane] = std::min(step.update[task.lane], timeline.start[t]);
    } else if (pass != "N") {
      step.work[task.lane] = std::max(step.work[task.lane], timeline.finish[t]);
    }
  }
  return step;
}

}  // namespace

TEST_CASE("a local step starts where the gradients of its stage end", "[sim]") {
  Program program = one_f_one_b({4, 1, 8});
  append_updates(program, StepStart::Local);
  verify(program);
  const Step step = step_of(program);
  for (std::size_t rank = 0; rank < 4; ++rank) CHECK(step.update[rank] == step.work[rank]);
  CHECK(step.update[3] < step.update[0]);  // the pipeline drains towards the first rank
}

TEST_CASE("the norm barrier holds every update until the last gradient", "[sim]") {
  Program program = one_f_one_b({4, 1, 8});
  append_updates(program, StepStart::NormBarrier);
  verify(program);
  const Step step = step_of(program);
  for (std::size_t rank = 0; rank < 4; ++rank)
    CHECK(step.update[rank] == Approx(step.work[0] + 0.1));
}

TEST_CASE("every stage of every rank gets its update, and delays are none", "[sim]") {
  for (const StepStart start : {StepStart::Local, StepStart::NormBarrier}) {
    for (const PipelineShape& shape : {PipelineShape{2, 2, 4}, PipelineShape{4, 3, 8}}) {
      Program program = interleaved_1f1b(shape);
      append_updates(program, start);
      verify(program);
      CHECK(parse_program(to_text(program), "t") == program);
      for (const auto& order : program.order) {
        const auto updates = std::count_if(order.begin(), order.end(), [&](const Action& a) {
          return program.passes[a.pass].name == "U";
        });
        CHECK(updates == shape.chunks);
      }
      const Staleness s = staleness(program);
      CHECK(s.max == 0);
      CHECK(s.histogram.at(0) == shape.stages() * shape.microbatches);
    }
  }
}

TEST_CASE("a program gets its optimizer step once", "[sim]") {
  Program program = gpipe({2, 1, 2});
  append_updates(program, StepStart::Local);
  CHECK_THROWS_AS(append_updates(program, StepStart::Local), base::Error);
  Program empty = gpipe({2, 1, 2});
  empty.order[1].clear();
  CHECK_THROWS_WITH(append_updates(empty, StepStart::Local), Catch::Contains("rank 1"));
}
