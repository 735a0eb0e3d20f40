// SPDX-License-Identifier: Apache-2.0
#include "sim/jobs/job_graph.hpp"

#include <catch2/catch.hpp>

#include "base/error.hpp"
#include "sim/engine/reference.hpp"
#include "sim/lower/uniform.hpp"
#include "sim/schedules/schedule.hpp"

using namespace paceline;
using namespace paceline::sim::jobs;

TEST_CASE("a job's graph takes as long as the general lowering's, for every schedule it may have",
          "[jobs]") {
  int schedules = 0;
  for (const sim::Schedule& schedule : sim::schedules()) {
    models::JobKind kind;
    kind.forward = base::Seconds(1.5);
    kind.backward = base::Seconds(2.25);
    kind.overhead = base::Seconds(0.125);
    kind.schedule = schedule.name;
    kind.where = "here";
    try {
      check_job_schedule(kind);
    } catch (const base::Error&) {
      continue;
    }
    ++schedules;
    for (const auto& [stages, microbatches, layers] :
         {std::array{1, 3, 0}, std::array{2, 8, 0}, std::array{4, 8, 0}, std::array{4, 12, 14}}) {
      INFO(schedule.name << " " << stages << " " << microbatches);
      kind.microbatches = microbatches;
      kind.layers = layers;
      const sim::Program program = job_program(kind, stages);
      sim::StageTimes times;
      for (int s = 0; s < stages; ++s) {
        const base::Seconds half = stage_backward(kind, s, stages) / 2;
        times.stages.push_back({stage_forward(kind, s, stages), half, half, {}});
      }
      for (const double hop : {0.0, 0.5}) {
        times.hop = base::Seconds(hop);
        const std::vector<Hop> hops(static_cast<std::size_t>(stages - 1), Hop{hop, 0});
        sim::TaskGraph graph;
        job_graph(kind, program, hops, graph);
        CHECK(sim::run_reference(graph).makespan ==
              Approx(sim::run_reference(timed(program, times)).makespan));
      }
    }
  }
  CHECK(schedules >= 3);
}
