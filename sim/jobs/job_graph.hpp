// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "models/jobs/jobs_file.hpp"
#include "sim/jobs/job_step.hpp"
#include "sim/program.hpp"
#include "sim/task_graph.hpp"

namespace paceline::sim::jobs {

/// The order of the kind's schedule on stages in a row, one rank each.
Program job_program(const models::JobKind& kind, int stages);

/// Its step with given times. `hops` by boundary between stages: none where both lie in one region.
/// Messages on a boundary wait for each other, each way; their latencies do not. `graph` is
/// overwritten and keeps its memory.
void job_graph(const models::JobKind& kind, const Program& program, const std::vector<Hop>& hops,
               TaskGraph& graph);

/// base::Error at the kind for a schedule that does not exist, never flushes, or does not run stage
/// r on rank r.
void check_job_schedule(const models::JobKind& kind);

}  // namespace paceline::sim::jobs
