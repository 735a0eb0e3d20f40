// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/error.hpp"
#include "sim/engine/reference.hpp"

/// The engine that shares links: transfers are SimGrid's fluid flows, everything else follows the
/// rules of the reference engine (event_queue.hpp).
namespace paceline::sim {

/// Whether SimGrid was found when Paceline was built and its module can be loaded; `why` says why
/// not.
bool simgrid_available(std::string* why = nullptr);

/// base::MissingError, which says what to do, unless it is available.
void require_simgrid();

/// The process the engine ran in did not end well: no fault of the question. Many questions in a
/// row lose this answer only.
struct EngineFailure : base::Error {
  using base::Error::Error;
};

/// When every task starts and ends, links shared max-min fairly. Runs in a process of its own:
/// SimGrid's clock cannot be reset, and a crash of it becomes an EngineFailure here. Throws
/// base::Error as run_reference does, base::NoProgress where transfers wait for ever on dead links,
/// and base::MissingError without SimGrid.
Timeline run_simgrid(const TaskGraph& graph, const EngineOptions& options = {});

}  // namespace paceline::sim
